// OpenAI's interface over an engine in Node: shapes, streams, errors.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { engineFetch, handle } from '../../dist/openai.js';
import { Engine, TINY } from './support/package.js';

const MESSAGES = [{ role: 'user', content: 'Say hi.' }];

/** @type {InstanceType<typeof Engine>} */
let engine;
before(async () => (engine = await Engine.load(TINY, { threads: 1, contextLength: 512, maxRows: 4 })));
after(() => engine.close());

const post = (path, body, init = {}) =>
  handle(engine, new Request(`http://engine/v1${path}`, { method: 'POST', body: JSON.stringify(body), ...init }));
const chat = (body, init) =>
  post('/chat/completions', { model: '*', messages: MESSAGES, max_tokens: 6, ...body }, init);
const eventsOf = async (response) =>
  (await response.text())
    .trim()
    .split('\n\n')
    .map((event) => event.replace(/^data: /, ''));

test('a streamed answer is the whole one in pieces, with finish_reason and usage where clients look for them', async () => {
  const settings = { seed: 7, temperature: 1, n: 2, logprobs: true, top_logprobs: 2 };
  const whole = await (await chat(settings)).json();
  assert.equal(whole.object, 'chat.completion');
  assert.equal(whole.model, engine.info.name);
  const response = await chat({ ...settings, stream: true, stream_options: { include_usage: true } });
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  const events = await eventsOf(response);
  assert.equal(events.pop(), '[DONE]');
  const chunks = events.map((event) => JSON.parse(event));
  const { choices: none, usage } = chunks.pop();
  assert.deepEqual(none, []);
  assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
  assert.ok(chunks.every((chunk) => chunk.usage === null));
  for (const { index, message, finish_reason, logprobs } of whole.choices) {
    const own = chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);
    assert.equal(own[0].delta.role, 'assistant');
    assert.equal(own.map(({ delta }) => delta.content ?? '').join(''), message.content);
    assert.deepEqual(
      own.map((choice) => choice.finish_reason),
      [...own.slice(1).map(() => null), finish_reason],
    );
    assert.deepEqual(
      own.flatMap((choice) => choice.logprobs?.content ?? []),
      logprobs.content,
    );
    assert.equal(logprobs.content.map(({ token }) => token).join(''), message.content);
    assert.ok(logprobs.content.every(({ top_logprobs }) => top_logprobs.length === 2));
  }
  assert.notEqual(whole.choices[0].message.content, whole.choices[1].message.content);
});

test('completions take texts and ids, and stop where they are told', async () => {
  const [a, b] = await Promise.all(
    ['It is a truth', [...(await engine.tokenize('It is a truth'))]].map((prompt) =>
      post('/completions', { model: '*', prompt, temperature: 0, logprobs: 3 }).then((r) => r.json()),
    ),
  );
  assert.equal(a.choices[0].text, b.choices[0].text);
  assert.equal(a.usage.completion_tokens, 16);
  const { tokens, text_offset, token_logprobs } = a.choices[0].logprobs;
  assert.equal(tokens.join(''), a.choices[0].text);
  tokens.forEach((token, i) => assert.ok(a.choices[0].text.startsWith(token, text_offset[i])));
  assert.ok(token_logprobs.every((one) => one <= 0));
  const stop = a.choices[0].text.trim().split(' ')[2];
  const short = await (
    await post('/completions', { model: '*', prompt: 'It is a truth', temperature: 0, stop })
  ).json();
  assert.equal(short.choices[0].finish_reason, 'stop');
  assert.equal(short.choices[0].text, a.choices[0].text.slice(0, a.choices[0].text.indexOf(stop)));
});

test('what is wrong is told as OpenAI tells it, and the next request is answered', async () => {
  const fault = async (body, status, param) => {
    const response = await chat(body);
    assert.equal(response.status, status, JSON.stringify(body));
    const { error } = await response.json();
    assert.deepEqual([error.param, error.type], [param, 'invalid_request_error'], error.message);
    return error;
  };
  await fault({ temprature: 1 }, 400, 'temprature');
  await fault({ temperature: 3 }, 400, 'temperature');
  await fault({ n: 9 }, 400, 'n');
  await fault({ store: true }, 400, 'store');
  await fault({ messages: [{ role: 'robot', content: '' }] }, 400, 'messages[0].role');
  await fault(
    { messages: [...MESSAGES, { role: 'tool', tool_call_id: 'a', content: '' }] },
    400,
    'messages[1].tool_call_id',
  );
  await fault({ tools: [{ type: 'custom' }] }, 400, 'tools[0].type');
  await fault(
    { tools: ['a', 'a'].map((name) => ({ type: 'function', function: { name } })) },
    400,
    'tools[1].function.name',
  );
  await fault({ messages: [{ role: 'user', content: 'a '.repeat(2000) }] }, 400, 'messages');
  const { code, message } = await fault({ model: 'gpt' }, 404, 'model');
  assert.equal(code, 'model_not_found');
  assert.ok(message.includes(engine.info.name));
  const raw = (body) => handle(engine, new Request('http://engine/v1/completions', { method: 'POST', body }));
  assert.equal((await raw('{"model": ')).status, 400);
  assert.equal((await raw('[]')).status, 400);
  assert.equal((await raw(new Uint8Array([0x7b, 0xff, 0x7d]))).status, 400);
  assert.equal((await raw('a'.repeat(9 * 2 ** 20))).status, 413);
  assert.equal((await post('/embeddings', {})).status, 400);
  assert.equal((await post('/nothing', {})).status, 404);
  assert.equal((await chat({})).status, 200);
});

test('fetch over an engine lists the model, rejects where its signal ends it, and a stream that is left ends the run', async () => {
  const fetch = engineFetch(engine);
  const { data } = await (await fetch('http://any/v1/models')).json();
  assert.deepEqual(
    data.map(({ id }) => id),
    [engine.info.name],
  );
  assert.equal((await fetch(`http://any/v1/models/${encodeURIComponent(engine.info.name)}`)).status, 200);
  assert.equal((await fetch('http://any/health')).status, 200);
  const controller = new AbortController();
  const body = { model: '*', messages: MESSAGES, max_tokens: 400 };
  const init = { method: 'POST', body: JSON.stringify(body), signal: controller.signal };
  const long = fetch('http://any/v1/chat/completions', init);
  controller.abort();
  await assert.rejects(long, { name: 'AbortError' });
  const streaming = await chat({ stream: true, max_tokens: 400, seed: 1 });
  const reader = streaming.body.getReader();
  await reader.read();
  await reader.cancel();
  assert.equal((await chat({ max_tokens: 2 })).status, 200);
});

test('requests beyond the queue are refused with 429', async () => {
  const all = await Promise.all(Array.from({ length: 70 }, () => chat({ max_tokens: 1 })));
  const statuses = all.map(({ status }) => status);
  assert.ok(statuses.includes(429));
  assert.ok(statuses.slice(0, 64).every((status) => status === 200));
  assert.equal((await chat({ max_tokens: 1 })).status, 200);
});
