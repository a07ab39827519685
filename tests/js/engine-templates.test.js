// What chat() gives to templates: arguments, nulls, roles and tools as each template wants them, and notes of what would vanish.
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { checkpoint, Engine, TINY, withCode } from './support/package.js';

const read = (name) => readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8');
const QWEN = read('chat/qwen25.jinja');
const R1 = read('reasoning/r1-distill-qwen.jinja');
const R1_LLAMACPP = read('reasoning/r1-distill-qwen-llamacpp.jinja');

/** @type {InstanceType<typeof Engine>} */
let engine;
before(async () => (engine = await Engine.load(TINY, { threads: 1, contextLength: 2048 })));
after(() => engine.close());

const user = (content) => ({ role: 'user', content });
const asked = (args, content = null) => [
  user('Weather?'),
  {
    role: 'assistant',
    content,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'get_weather', arguments: args } }],
  },
  { role: 'tool', tool_call_id: 'c1', content: '3 °C' },
];

/** The text that a chat sends, and its notes. */
async function sent(messages, settings) {
  const { padded_ids, notes } = await engine.chat(messages, { max_new_tokens: 0, ...settings }).result;
  const text = await engine.detokenize(padded_ids[0]);
  assert.equal(
    padded_ids[0].length,
    (await engine.chat(messages, { max_new_tokens: 0, ...settings }).result).usage.prompt_tokens,
  );
  return { text, notes };
}

test("arguments given as JSON text are an object for Qwen's template, and the text as written for one that adds texts", async () => {
  const args = '{"city":  "Oslo", "id": 12345678901234567890, "x": 1.0}';
  const qwen = await sent(asked(args, ''), { template: QWEN });
  assert.ok(qwen.text.includes('"arguments": {"city": "Oslo", "id": 12345678901234567890, "x": 1.0}}'), qwen.text);
  const r1 = await sent(asked(args), { template: R1 });
  assert.ok(r1.text.includes('get_weather\n```json\n' + args + '\n```'), r1.text);
  const shown = await sent(asked(args), { template: "{{ messages[1].tool_calls[0].function.arguments ~ '' }}" });
  assert.ok(shown.text.includes(args), shown.text);
  const escaped = '{% for m in messages %}{{ m | tojson(ensure_ascii=True) }}{% endfor %}';
  assert.match((await sent(asked(args), { template: escaped })).text, /"arguments": \{"city": "Oslo"/);
  const length = '{{ messages[1].tool_calls[0].function.arguments.split("Oslo")[0] }}';
  assert.equal((await sent(asked(args), { template: length })).text, '{"city":  "');
});

test('where a template cannot do without a null it gets it, in the text of applyChatTemplate() too', async () => {
  const cases = read('reasoning/chat.jsonl')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const withNulls = cases.filter((one) => one.expected_text_if_null_is_kept && one.template_name === 'r1-distill-qwen');
  assert.ok(withNulls.length >= 3);
  for (const { messages, add_generation_prompt, expected_text_if_null_is_kept: wanted } of withNulls) {
    const template = R1.replace('{{bos_token}}', '<｜begin▁of▁sentence｜>');
    assert.equal(await engine.applyChatTemplate(messages, { add_generation_prompt, template }), wanted);
    if (add_generation_prompt) assert.equal((await sent(messages, { template })).text, wanted);
  }
  const fault = withCode('usage', /needs a key that a message lacks/);
  await assert.rejects(engine.applyChatTemplate([{ role: 'user', content: null }], { template: QWEN }), fault);
});

test("llama.cpp's template of R1 writes arguments once, whichever way they came", async () => {
  for (const args of ['{"city": "Oslo"}', { city: 'Oslo' }]) {
    const { text } = await sent(asked(args), { template: R1_LLAMACPP });
    assert.ok(text.includes('```json\n{"city": "Oslo"}\n```'), text);
  }
});

test('a developer is a system where the template has no such role', async () => {
  const messages = [{ role: 'developer', content: 'Be brief.' }, user('Hi')];
  const qwen = await sent(messages, { template: QWEN });
  assert.equal(qwen.text.indexOf('<|im_start|>system\nBe brief.<|im_end|>'), 0, qwen.text);
  assert.deepEqual(qwen.notes, []);
  const chatml = await sent(messages, { template: 'chatml' });
  assert.equal(chatml.text.indexOf('<|im_start|>developer\nBe brief.<|im_end|>'), 0, chatml.text);
  const strict =
    "{% for m in messages %}{% if m.role not in ['system', 'user'] %}{{ raise_exception('role') }}{% endif %}{{ m.content }}{% endfor %}";
  assert.equal((await sent(messages, { template: strict })).text, 'Be brief.Hi');
  const plain = await engine.applyChatTemplate(messages, { template: QWEN });
  assert.ok(!plain.includes('Be brief.'), "applyChatTemplate() is Transformers' string");
});

test('roles and calls that a template passes over are told in notes, tools are refused', async () => {
  const tools = [{ type: 'function', function: { name: 'f' } }];
  const { notes } = await sent([{ role: 'human', content: 'Hi' }, user('Ho')], { template: QWEN });
  assert.match(notes.join('\n'), /^message 0 leaves no trace .* no role "human" \("user" is meant, perhaps\)$/);
  await assert.rejects(sent([user('Hi')], { tools }), withCode('usage', /^the 1 tools leave no trace in the prompt/));
  assert.match(
    (await sent(asked('{}', 'x'), { template: R1 })).notes.join('\n'),
    /^the tool calls of message 1 leave no/,
  );
  assert.deepEqual((await sent(asked('{}', 'x'), { template: QWEN, tools })).notes, []);
});

test('tools that are no list of objects are a usage error, everywhere', async () => {
  const tools = /** @type {any} */ ({ f: { type: 'function' } });
  const fault = withCode('usage', /tools is of type object: an array of tools is wanted/);
  await assert.rejects(engine.chat([user('x')], { tools }).result, fault);
  await assert.rejects(engine.applyChatTemplate([user('x')], { tools }), fault);
  await assert.rejects(engine.prefill([user('x')], { tools }), fault);
  const big = [{ type: 'function', function: { name: 'f', parameters: { maximum: 5n } } }];
  await assert.rejects(
    engine.chat([user('x')], { tools: big }).result,
    withCode('usage', /tools\[0\]\.function\.parameters\.maximum is the BigInt 5/),
  );
});

/** A checkpoint as `mha` with other files in it, loaded. */
async function changedCheckpoint(t, files) {
  const folder = mkdtempSync(path.join(tmpdir(), 'qwen-templates-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of ['config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json'])
    copyFileSync(path.join(checkpoint('mha'), name), path.join(folder, name));
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  const other = await Engine.load(`${folder}/`, { threads: 1, contextLength: 128 });
  t.after(() => other.close());
  return (options) => other.applyChatTemplate([user('Hi')], options);
}

test('of named templates tool_use serves tools, default the rest, and each by its name', async (t) => {
  const templates = [
    { name: 'default', template: 'plain' },
    { name: 'tool_use', template: '{{ tools | length }} tools' },
    { name: 'rag', template: 'rag of {{ messages | length }}' },
  ];
  const config = JSON.stringify({ chat_template: templates, eos_token: '<|im_end|>' });
  const list = await changedCheckpoint(t, { 'tokenizer_config.json': config });
  const tools = [{ type: 'function', function: { name: 'f' } }];
  assert.equal(await list({}), 'plain');
  assert.equal(await list({ tools }), '1 tools');
  assert.equal(await list({ template: 'rag', tools }), 'rag of 1');
  assert.equal(await list({ template: 'default', tools }), 'plain');
  await assert.rejects(
    list({ template: 'tools' }),
    withCode('usage', /none of the names default, chatml, tool_use, rag/),
  );
});

test('templates find the special tokens that the files name', async (t) => {
  const template = '[{{ bos_token }}|{{ unk_token }}|{{ eos_token }}|{{ pad_token }}|{{ sep_token is defined }}]';
  const named = { bos_token: '<s>', unk_token: { content: '<unk>' }, eos_token: '<|im_end|>', chat_template: template };
  const own = await changedCheckpoint(t, { 'tokenizer_config.json': JSON.stringify(named) });
  assert.match(await own({}), /^\[<s>\|<unk>\|<\|im_end\|>\|.*\|False\]$/);
  const none = await changedCheckpoint(t, { 'tokenizer_config.json': JSON.stringify({ chat_template: template }) });
  assert.match(await none({}), /^\[\|\|<\|/);
  assert.ok(!('tokenTexts' in engine.info) && !('templates' in engine.info));
});

test('a turn of calls alone, whose content is null, is an empty one under the built-in template', async () => {
  const call = { id: '1', type: 'function', function: { name: 'now', arguments: '{}' } };
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: '1', content: '3' },
  ];
  assert.equal(
    await engine.applyChatTemplate(messages, { template: 'chatml' }),
    '<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n<|im_start|>tool\n3<|im_end|>\n',
  );
});
