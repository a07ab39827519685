// Templates mean what Jinja2 means in Python, or are refused with the line and the name of what is not supported.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { plainMessages } from '../../js/page/plain.js';
import { renderTemplate } from '../../js/worker/template.js';

const read = (name) => readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8');
const lines = (name) =>
  read(name)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

const NOW = () => new Date(2026, 10, 3, 15, 4, 5);
const render = (template, variables = {}) => renderTemplate(template, variables, NOW);

/** JSON.parse reads 1.0 as 1: JavaScript knows no other. */
const withoutPointZero = (text) => text?.replace(/\b(\d+)\.0\b/g, '$1');

test('chat/jinja.jsonl: the text of Jinja2, or a refusal that names the line; never another text', () => {
  const tokens = { bos_token: '', eos_token: '<|im_end|>', pad_token: '<|endoftext|>' };
  const refused = [];
  const cases = lines('chat/jinja.jsonl');
  for (const { name, template, messages, tools, text } of cases) {
    const variables = { messages, tools, documents: null, add_generation_prompt: true, ...tokens };
    let got;
    try {
      got = render(template, variables);
    } catch (error) {
      assert.equal(error.name, 'QwenError', `${name}: ${error.stack}`);
      if (text === undefined) continue;
      assert.match(error.message, /line \d+: .* is not supported/, name);
      refused.push(name);
      continue;
    }
    if (name === 'dict-msg') assert.equal(withoutPointZero(got), withoutPointZero(text), name);
    else assert.equal(got, text, name);
  }
  assert.equal(cases.length, 215);
  assert.deepEqual(refused, ['autoescape']);
});

test('reasoning/: every string of the templates of R1-Distill', () => {
  const tokens = {
    bos_token: '<｜begin▁of▁sentence｜>',
    eos_token: '<｜end▁of▁sentence｜>',
    pad_token: '<｜end▁of▁sentence｜>',
  };
  const cases = lines('reasoning/chat.jsonl');
  for (const one of cases) {
    const {
      name,
      template_name,
      messages,
      add_generation_prompt,
      variables,
      expected_text,
      expected_text_if_null_is_kept,
    } = one;
    const template = read(`reasoning/${template_name}.jinja`);
    const make = (keepNulls) =>
      render(template, {
        messages: plainMessages(messages, keepNulls),
        tools: null,
        add_generation_prompt,
        ...tokens,
        ...variables,
      });
    if (expected_text !== undefined) assert.equal(make(false), expected_text, `${template_name}: ${name}`);
    else assert.throws(() => make(false), { code: 'usage' }, `${template_name}: ${name}`);
    if (expected_text_if_null_is_kept !== undefined) assert.equal(make(true), expected_text_if_null_is_kept, name);
  }
  assert.equal(cases.length, 63);
});

test('what is not supported, or is not there, is refused with its line and its name', () => {
  for (const [template, words] of /** @type {[string, RegExp][]} */ ([
    ["a\n{{ 'x'.encode() }}", /line 2: the method encode\(\) of a text is not supported/],
    ["\n\n{{ 'x' | urlize }}", /line 3: the filter urlize is not supported/],
    ["{{ 'x' | nonsense }}", /line 1: there is no filter: nonsense/],
    ['{{ 1 is nonsense }}', /line 1: there is no test: nonsense/],
    ["{{ strftime_now('%Ey') }}", /line 1: '%E' of strftime_now is not supported/],
    ["{{ messages.append('x') }}", /line 1: the method append\(\) of a list changes it/],
    ["{% include 'x' %}", /line 1: the tag include is not supported/],
    ['{{ dict }}', /line 1: dict\(\) without its call as text is not supported/],
    ['{% for a in messages %}\n{% endif %}', /line 2: unknown tag 'endif', endfor or else is to come first/],
    ["{{ ('<' | safe) + '<' }}", /line 1: '\+' of a text that went through safe or escape is not supported/],
    ['{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}', /line 1: too deep or too large/],
  ])) {
    assert.throws(() => render(template, { messages: [] }), { code: 'model', message: words }, template);
  }
});

/** What Jinja2 3.1.6 gives in Transformers' environment. */
const REFERENCE = [
  ["{{ ' \\n x \\n'.strip('\\n') }}|", ' \n x |'],
  ["{{ 'a😀b'.find('b') }}{{ 'a😀b'.center(6, '*') }}{{ '😀' | length }}", '2*a😀b**1'],
  [
    "{{ 'a,b,,c'.split(',', 2) }}{{ ' a  b '.split() }}{{ 'a b c'.rsplit(None, 1) }}",
    "['a', 'b', ',c']['a', 'b']['a b', 'c']",
  ],
  ["{{ 'it\\'s' }}{{ ['it\\'s', 'a\\nb', '\\u200b'] }}", `it's["it's", 'a\\nb', '\\u200b']`],
  ['{{ 7 / 2 }} {{ 6 / 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 1.0 // 0.1 }} {{ 2 ** -1 }}', '3.5 3.0 -4 2 9.0 0.5'],
  ['{{ [1, 2] == [1, 2] }} {{ (1,) == [1] }} {{ 1 == 1.0 == true }} {{ {1: 2} == {1.0: 2} }}', 'True False True True'],
  [
    '{{ 1e16 }} {{ 1e-5 }} {{ 123456789.0 }} {{ -0.0 }} {{ 10 ** 20 }}',
    '1e+16 1e-05 123456789.0 -0.0 100000000000000000000',
  ],
  ["{{ '%05.1f|%-5s|%+d|%x|%r' % (2.25, 'é', 3, 255, 'a') }}", "002.2|é    |+3|ff|'a'"],
  ["{{ '{:>6}|{:,}|{:.2f}|{!r}'.format('é', 1234567, 0.125, 'x') }}", "     é|1,234,567|0.12|'x'"],
  ["{{ d.items is defined }}{{ d['items'] }}{{ d.items() | list }}", "True7[('items', 7), ('b', None)]"],
  ["{{ people | join(', ', attribute='name') }}{{ people | map(attribute='age', default=0) | sum }}", 'Bo, al3'],
  ["{{ people | sort(attribute='name') | map(attribute='name') | list }}", "['al', 'Bo']"],
  ["{{ people | selectattr('age') | list | length }}{{ none | map('upper') | list }}", '1[]'],
  [
    "{{ 2.5 | round }} {{ 2.675 | round(2) }} {{ 3 | round }} {{ ' 1_0 ' | int }} {{ '1e2' | int }}",
    '2.0 2.67 3 10 100',
  ],
  [
    "{{ d | tojson(indent=2) }}{{ [1.0, 1e20] | tojson(separators=(',', ':')) }}",
    '{\n  "items": 7,\n  "b": null\n}[1.0,1e+20]',
  ],
  ['{% for n in [1, [2, [3]]] recursive %}{{ n if n is integer else loop(n) }}.{% endfor %}', '1.2.3...'],
  ['{% for n in [1, 2] %}{% break %}{% else %}none{% endfor %}', 'none'],
  ['{% macro f(a, b=a) %}{{ a }}{{ b }}{{ caller() }}{% endmacro %}{% call f(1) %}x{% endcall %}', '11x'],
  ['{% if true %}\r\n  a\r\n  {% endif %}\r\n', '  a\n'],
  ["{{ strftime_now('%I:%M %p, %-d %B, week %V, day %j, %e') }}", '03:04 PM, 3 November, week 45, day 307,  3'],
  ["{{ 'abc'[::-1] }}{{ 'abcdef'[-3:-1] }}{{ [1, 2, 3][5:] }}{{ (1, 2)[0:1] }}", 'cbade[](1,)'],
  [
    '{{ missing }}{{ missing | length }}{{ [missing] }}{{ missing is none }}{{ missing == missing }}',
    '0[Undefined]FalseTrue',
  ],
];

test('Python decides what text, numbers, lists and loops mean', () => {
  const variables = { d: { items: 7, b: null }, people: [{ name: 'Bo', age: 3 }, { name: 'al' }] };
  for (const [template, text] of REFERENCE) assert.equal(render(template, variables), text, template);
});
