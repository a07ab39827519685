// Thoughts and calls of tools through the public API: a processor dictates what the model writes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Ajv } from 'ajv';
import { Engine, TINY, withCode } from './support/package.js';

const user = (content) => ({ role: 'user', content });
const TOOLS = ['now', 'add'].map((name) => ({ type: 'function', function: { name, parameters: { type: 'object' } } }));
const TEMPLATE =
  '{{ tools | tojson }}{% for m in messages %}{{ m.role }}: {{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}\n{% endfor %}assistant:';
const CALL = '<tool_call>\n{"name": "now", "arguments": {"zone": "UTC"}}\n</tool_call>';
const END = 4093; // <|endoftext|>

/** @type {InstanceType<typeof Engine>} */
let engine;
before(async () => (engine = await Engine.load(TINY, { threads: 1, contextLength: 1024, maxRows: 8 })));
after(() => engine.close());

/** Settings under which the answer is `text`, then the end where `ends`. */
async function dictated(messages, text, settings = {}, ends = true) {
  const given = { template: TEMPLATE, tools: TOOLS, ...settings };
  const { usage } = await engine.chat(messages, { ...given, max_new_tokens: 0 }).result;
  const ids = [...(await engine.tokenize(text)), ...(ends ? [engine.info.eosTokenIds[0] ?? END] : [])];
  const url = `./support/processor-script.mjs?prompt=${usage.prompt_tokens}&ids=${ids}`;
  return { ...given, logits_processor: new URL(url, import.meta.url), max_new_tokens: ids.length };
}

async function answer(messages, text, settings, ends) {
  const run = engine.chat(messages, await dictated(messages, text, settings, ends));
  const joined = { text: '', reasoning: '', calls: [] };
  for await (const { text: piece, reasoning = '', tool_calls = [] } of run) {
    joined.text += piece;
    joined.reasoning += reasoning;
    for (const {
      index,
      id,
      function: { name, arguments: args },
    } of tool_calls) {
      if (id) joined.calls.push({ id, type: 'function', function: { name, arguments: '' } });
      joined.calls[index].function.arguments += args;
    }
  }
  const result = await run.result;
  const [sequence] = result.sequences;
  assert.equal(joined.text, sequence.text);
  assert.equal(joined.reasoning, sequence.reasoning ?? '');
  assert.deepEqual(joined.calls, sequence.tool_calls ?? []);
  return { ...sequence, notes: result.notes, usage: result.usage };
}

test('a call that the model writes is told in chunks and in the result', async () => {
  const whole = await answer([user('When?')], `Let me look.\n${CALL}`);
  assert.equal(whole.text, 'Let me look.');
  assert.equal(whole.finish_reason, 'tool_calls');
  assert.deepEqual(
    whole.tool_calls?.map((call) => call.function),
    [{ name: 'now', arguments: '{"zone": "UTC"}' }],
  );
  assert.match(whole.tool_calls?.[0].id ?? '', /^call_\w{24}$/);
  const cut = await answer([user('When?')], CALL.slice(0, CALL.indexOf('UTC')), {}, false);
  assert.equal(cut.finish_reason, 'length');
  assert.deepEqual(
    cut.tool_calls?.map((call) => call.function),
    [{ name: 'now', arguments: '{"zone": "' }],
  );
});

test('tool_choice, parallel_tool_calls and tool_parsing say which calls are read', async () => {
  const none = await answer([user('When?')], CALL, { tool_choice: 'none' });
  assert.equal(none.text, CALL);
  assert.deepEqual([none.tool_calls, none.finish_reason], [undefined, 'eos']);
  const first = await answer([user('When?')], CALL + CALL, { parallel_tool_calls: false });
  assert.equal(first.tool_calls?.length, 1);
  assert.match(first.notes.join('\n'), /calls after the first were left out/);
  assert.equal((await answer([user('When?')], CALL + CALL)).tool_calls?.length, 2);
  const bare = '{"name": "now", "arguments": {}}';
  assert.equal((await answer([user('When?')], bare)).tool_calls?.length, 1);
  assert.equal((await answer([user('When?')], bare, { tool_parsing: 'strict' })).text, bare);
  const unknown = await answer([user('When?')], CALL.replace('now', 'then'));
  assert.equal(unknown.finish_reason, 'eos');
  assert.match(unknown.notes.join('\n'), /no call of a given tool/);
});

test('a thought is told apart from the answer, also where the template opens it', async () => {
  const own = await answer([user('7 * 8?')], '<think>\nThat is 56.\n</think>\n\n56');
  assert.deepEqual([own.reasoning, own.text, own.finish_reason], ['That is 56.', '56', 'eos']);
  const tokens = (await engine.tokenize('<think>\nThat is 56.\n</think>')).length;
  assert.equal(own.usage.reasoning_tokens, tokens);
  const opened = { template: `${TEMPLATE} <think>\n` };
  const theirs = await answer([user('7 * 8?')], `That is 56.\n</think>\n\n${CALL}`, opened);
  assert.deepEqual([theirs.reasoning, theirs.text, theirs.finish_reason], ['That is 56.', '', 'tool_calls']);
  const raw = await answer([user('7 * 8?')], 'That is 56.\n</think>\n\n56', { ...opened, thinking: 'raw' });
  assert.deepEqual([raw.reasoning, raw.text], [undefined, 'That is 56.\n</think>\n\n56']);
  const plain = await answer([user('7 * 8?')], '56');
  assert.ok(!('reasoning' in plain) && !('reasoning_tokens' in plain.usage));
});

test('runTools() runs what is called and tells the model, until it answers', async () => {
  const zones = [];
  const tool = { ...TOOLS[0], execute: ({ zone }) => (zones.push(zone), { time: '12:00' }) };
  const tools = [tool, { ...TOOLS[1], execute: () => 0 }];
  const settings = await dictated([user('When?')], CALL);
  const once = await engine.runTools([user('When?')], tools, { ...settings, maxRounds: 1 });
  assert.deepEqual(zones, ['UTC']);
  assert.deepEqual(
    once.messages.map(({ role }) => role),
    ['user', 'assistant', 'tool'],
  );
  const [, called, told] = once.messages;
  assert.equal(told.tool_call_id, called.tool_calls?.[0].id);
  assert.equal(told.content, '{"time":"12:00"}');
  assert.match(once.result.notes.join('\n'), /maxRounds is 1/);
  const fails = [{ ...tool, execute: () => Promise.reject(new Error('no clock')) }, tools[1]];
  const failed = await engine.runTools([user('When?')], fails, { ...settings, maxRounds: 1 });
  assert.equal(failed.messages[2].content, '{"error":"no clock"}');
  await assert.rejects(engine.runTools([user('When?')], fails, { ...settings, onError: 'throw' }), /no clock/);
  const plain = await engine.runTools([user('When?')], tools, await dictated([user('When?')], 'Now.'));
  assert.deepEqual(plain.messages.at(-1), { role: 'assistant', content: 'Now.' });
  await assert.rejects(
    engine.runTools([user('x')], /** @type {any} */ (TOOLS)),
    withCode('usage', /"now" has no function/),
  );
});

test('a call that is required comes, names a given tool, and its arguments fit, whatever the model would write', async () => {
  const add = {
    type: 'object',
    properties: { a: { type: 'integer' }, b: { type: 'number' }, unit: { enum: ['m', 'km'] } },
    required: ['a', 'b'],
    additionalProperties: false,
  };
  const tools = [
    { type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} } } },
    { type: 'function', function: { name: 'add', parameters: add } },
    { type: 'function', function: { name: 'free' } },
    { type: 'function', function: { name: 'kept.apart', parameters: { $ref: '#/$defs/x', $defs: { x: add } } } },
  ];
  const validate = new Ajv({ strict: false }).compile(add);
  /** @type {Set<string>} */
  const names = new Set();
  for (const parallel_tool_calls of [true, false])
    for (const sampling of [{}, { temperature: 1, num_return_sequences: 4, seed: 5 }, { temperature: 2, seed: 8 }]) {
      const settings = { template: TEMPLATE, tools, tool_choice: 'required', parallel_tool_calls, max_new_tokens: 160 };
      const { sequences } = await engine.chat([user('What is the time?')], { ...settings, ...sampling }).result;
      for (const { text, tool_calls, finish_reason, format } of sequences) {
        assert.deepEqual([text, format.complete], ['', true]);
        assert.ok(['tool_calls', 'length'].includes(finish_reason)); // a further call may end with the last token
        assert.ok(tool_calls.length >= 1 && (parallel_tool_calls || tool_calls.length === 1));
        for (const { function: called } of tool_calls) {
          names.add(called.name);
          const value = JSON.parse(called.arguments);
          if (['add', 'kept.apart'].includes(called.name)) assert.ok(validate(value), called.arguments);
        }
      }
    }
  assert.ok([...names].every((name) => tools.some((tool) => tool.function.name === name)) && names.size > 1);
  const one = { template: TEMPLATE, tools, tool_choice: 'required', max_new_tokens: 300 };
  const only = await engine.chat([user('x')], one).result;
  assert.equal(only.sequences[0].tool_calls.length, 1, 'further calls only where they are asked for');
  const tool_choice = { type: 'function', function: { name: 'add' } };
  const { sequences } = await engine.chat([user('x')], { template: TEMPLATE, tools, tool_choice, max_new_tokens: 160 })
    .result;
  assert.deepEqual([...new Set(sequences[0].tool_calls.map((call) => call.function.name))], ['add']);
});

test('what cannot be done with tools is refused by name', async () => {
  const refused = (settings, text) =>
    assert.rejects(
      engine.chat([user('x')], { template: TEMPLATE, tools: TOOLS, ...settings }).result,
      withCode('usage', text),
    );
  await refused({ tool_choice: 'required', tools: [] }, /tool_choice is "required", and there are no tools/);
  await refused({ tool_choice: 'required', response_format: { type: 'json_object' } }, /does not go with tool_choice/);
  const odd = { type: 'function', function: { name: 'odd', parameters: { type: 'string' } } };
  await refused({ tool_choice: 'required', tools: [odd] }, /tool "odd": the type of its parameters is "string"/);
  const hard = { properties: { a: { type: 'string', pattern: '(?=a)b' } } };
  const held = { type: 'function', function: { name: 'held', parameters: hard } };
  await refused({ tool_choice: 'required', tools: [held] }, /tool "held": .*"\/properties\/a\/pattern" cannot be held/);
  await refused({ tool_choice: { type: 'function', function: { name: 'no' } } }, /names "no"; the tools are now, add/);
  await refused({ tool_choice: 'any' }, /tool_choice is "any"/);
  await refused({ tools: [TOOLS[0], TOOLS[0]] }, /two tools are named "now"/);
  await refused({ tool_parsing: 'loose' }, /tool_parsing is "loose"/);
  await refused({ thinking: 'off' }, /thinking is "off"/);
});
