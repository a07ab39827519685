// Thoughts and calls of tools in recorded outputs: whatever the pieces in which an output comes, the parts are the same.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ThoughtSplitter } from '../../js/page/reasoning.js';
import { ToolCallReader } from '../../js/page/tool-calls.js';

const fixture = (name) =>
  readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** A text in one piece, letter by letter, and cut once at every place. */
function cutsOf(text) {
  const letters = [...text];
  const once = letters.slice(1).map((_, i) => [letters.slice(0, i + 1).join(''), letters.slice(i + 1).join('')]);
  return [[text], letters, ...once];
}

function split(pieces, opened) {
  const splitter = new ThoughtSplitter(opened);
  const deltas = [...pieces.map((piece) => splitter.push(piece)), splitter.end()];
  const firstText = deltas.findIndex(({ text }) => text);
  const thoughtAfter = firstText >= 0 && deltas.slice(firstText + 1).some(({ reasoning }) => reasoning);
  assert.equal(thoughtAfter, false, 'all of the thought comes before the answer');
  return {
    reasoning: splitter.thought ? deltas.map(({ reasoning }) => reasoning).join('') : null,
    content: deltas.map(({ text }) => text).join(''),
  };
}

function read(pieces, names, lenient) {
  const reader = new ToolCallReader(names, lenient);
  const deltas = [...pieces.map((piece) => reader.push(piece)), reader.end()];
  const tool_calls = [];
  for (const { index, id, function: part } of deltas.flatMap((delta) => delta.tool_calls)) {
    assert.equal(id !== undefined, index === tool_calls.length, 'the id comes with the first piece');
    if (id) tool_calls.push({ name: part.name, arguments: '' });
    tool_calls[index].arguments += part.arguments;
  }
  const content = deltas.map(({ text }) => text).join('');
  return { content, tool_calls, ...(reader.incomplete ? { incomplete: true } : {}) };
}

test('every cut of the recorded outputs of models that think gives the same split', () => {
  let cuts = 0;
  for (const { name, thought_open, pieces, expected } of fixture('reasoning/outputs.jsonl')) {
    for (const cut of [pieces, ...cutsOf(pieces.join(''))]) {
      assert.deepEqual(split(cut, thought_open), expected, `${name}: ${JSON.stringify(cut)}`);
      cuts++;
    }
  }
  assert.ok(cuts > 3000, `${cuts} cuts`);
});

test('every cut of the recorded outputs with tools gives the same calls', () => {
  const names = ['get_weather', 'add', 'now', 'search.web', 'plan'];
  let cuts = 0;
  for (const { name, raw, strict, lenient = strict } of fixture('format/tools/outputs.jsonl')) {
    const text = raw.replace(/<\|im_end\|>$/, ''); // a special token is no text
    for (const cut of cutsOf(text)) {
      assert.deepEqual(read(cut, names, false), strict, `${name}, strict: ${JSON.stringify(cut)}`);
      assert.deepEqual(read(cut, names, true), lenient, `${name}, lenient: ${JSON.stringify(cut)}`);
      cuts++;
    }
  }
  assert.ok(cuts > 5000, `${cuts} cuts`);
});

test('an answer that is no call is not held back to its end', () => {
  for (const text of ['Hello there', '```python\nprint(1)', '{"a": 1} and more', '[1, 2] is a list', '`x` is']) {
    const reader = new ToolCallReader(['now'], true);
    assert.equal(reader.push(`${text}.`).text, `${text}.`);
  }
});
