// From a Request to a Response: routes, bodies, errors and streams of server-sent events.
import { ChunkWriter, wholeAnswer } from './answers.js';
import { messagesOf, toolsOf } from './conversation.js';
import { checkKeys, flagOf, numberOf, settingsOf, streamOf } from './keys.js';
import { errorBody, Refusal, refusalOf, refuse } from './refusal.js';

/**
 * @typedef {Pick<import('../page/engine.js').Engine, 'info' | 'chat' | 'generate' | 'detokenize'>} Engine
 * @typedef {import('./keys.js').Body} Body
 * @typedef {import('../types.js').Generation} Generation
 * @typedef {import('./answers.js').Form} Form
 * @typedef {{ body: Body, signal: AbortSignal, notes: string[] }} Asked
 */

const MOST_BYTES = 8 * 2 ** 20;
/** Requests that wait for an engine, beside the one that runs. */
const MOST_WAITING = 64;
/** @type {WeakMap<object, number>} requests that an engine has now */
const underWay = new WeakMap();

/**
 * A fetch over an engine, for the `fetch` option of clients; the host of the address does not matter.
 * @param {Engine} engine
 * @returns {typeof fetch}
 */
export const engineFetch = (engine) => async (input, init) => handle(engine, new Request(input, init));

/**
 * Answers a request of OpenAI's interface. What is wrong with it is told in the response; it rejects only where the request's
 * own signal ends it.
 * @param {Engine} engine
 * @param {Request} request
 * @returns {Promise<Response>}
 */
export async function handle(engine, request) {
  try {
    return await answered(engine, request);
  } catch (error) {
    request.signal.throwIfAborted();
    const refusal = refusalOf(error);
    return json(errorBody(refusal), refusal.status);
  }
}

/**
 * @param {unknown} value
 * @param {number} [status]
 * @param {Record<string, string>} [headers]
 */
const json = (value, status = 200, headers = {}) =>
  new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json', ...headers } });

/**
 * @param {Engine} engine
 * @param {Request} request
 */
async function answered(engine, request) {
  const { pathname } = new URL(request.url);
  const model = { id: engine.info.name, object: 'model', created: 0, owned_by: 'qwen2-wasm' };
  if (pathname === '/v1/embeddings') throw new Refusal(400, 'embeddings are not offered: this engine generates text');
  if (pathname === '/v1/chat/completions' || pathname === '/v1/completions') {
    if (request.method !== 'POST') throw new Refusal(405, `${request.method} ${pathname}: POST is wanted`);
    return completed(engine, request, pathname === '/v1/chat/completions');
  }
  const wanted = decodeURIComponent(pathname.replace(/^\/v1\/models\/?/, ''));
  const isModel = pathname.startsWith('/v1/models') && (wanted === '' || wanted === model.id);
  if (pathname !== '/health' && !isModel) throw new Refusal(404, `there is no ${pathname}; the model is ${model.id}`);
  if (request.method !== 'GET') throw new Refusal(405, `${request.method} ${pathname}: GET is wanted`);
  if (pathname === '/health') return json({ status: 'ok' });
  return json(wanted ? model : { object: 'list', data: [model] });
}

/**
 * @param {Engine} engine
 * @param {Request} request
 * @param {boolean} chat
 */
async function completed(engine, request, chat) {
  const body = await bodyOf(request);
  checkModel(body.model, engine);
  const asked = { body, signal: request.signal, notes: checkKeys(body, chat) };
  const form = formOf(engine, body, chat);
  const { stream, usage } = streamOf(body);
  const run = enter(engine, () => (chat ? chatRun(engine, asked, form) : textRun(engine, asked, form)));
  return stream ? streamed(run, form, usage, asked.notes) : wholly(run, form, asked.notes);
}

/**
 * Begins a run where the queue has room.
 * @param {Engine} engine
 * @param {() => Generation} begin
 */
function enter(engine, begin) {
  const before = underWay.get(engine) ?? 0;
  if (before > MOST_WAITING) throw new Refusal(429, `${before} requests wait already`, { code: 'rate_limit_exceeded' });
  const run = begin();
  underWay.set(engine, before + 1);
  const leave = () => underWay.set(engine, (underWay.get(engine) ?? 1) - 1);
  run.result.then(leave, leave);
  return run;
}

/**
 * @param {Request} request
 * @returns {Promise<Body>}
 */
async function bodyOf(request) {
  const pieces = [];
  let bytes = 0;
  const reader = request.body?.getReader();
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
    bytes += read.value.length;
    if (bytes > MOST_BYTES) {
      await reader?.cancel();
      throw new Refusal(413, `the body has more than ${MOST_BYTES} bytes`);
    }
    pieces.push(read.value);
  }
  const all = new Uint8Array(await new Blob(pieces).arrayBuffer());
  let value;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(all));
  } catch (error) {
    throw new Refusal(400, `the body is no JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Refusal(400, 'the body is no JSON object');
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null));
}

/**
 * @param {unknown} model
 * @param {Engine} engine
 */
function checkModel(model, { info: { name } }) {
  if (typeof model !== 'string') refuse('model', `missing: ${JSON.stringify(name)} is loaded`);
  if (model !== '*' && model !== name)
    throw new Refusal(404, `there is no model ${JSON.stringify(model)}: ${JSON.stringify(name)} is loaded`, {
      param: 'model',
      code: 'model_not_found',
    });
}

/**
 * @param {Engine} engine
 * @param {Body} body
 * @param {boolean} chat
 * @returns {Form}
 */
function formOf(engine, body, chat) {
  /** @type {Map<number, Promise<string>>} */
  const texts = new Map();
  const textOf = (/** @type {number} */ id) => {
    if (!texts.has(id)) texts.set(id, engine.detokenize([id]));
    return /** @type {Promise<string>} */ (texts.get(id));
  };
  return {
    chat,
    id: `${chat ? 'chatcmpl' : 'cmpl'}-${crypto.randomUUID().replaceAll('-', '')}`,
    created: Math.floor(Date.now() / 1000),
    model: engine.info.name,
    tops: chat ? chatTops(body) : (numberOf(body, 'logprobs', 0, 5, true) ?? null),
    textOf,
  };
}

/** @param {Body} body */
function chatTops(body) {
  const tops = numberOf(body, 'top_logprobs', 0, 20, true);
  const wanted = flagOf(body, 'logprobs');
  if (tops !== undefined && !wanted) refuse('top_logprobs', 'only with logprobs: true');
  return wanted ? (tops ?? 0) : null;
}

/**
 * @param {Engine} engine
 * @param {Asked} asked
 * @param {Form} form
 */
function chatRun(engine, { body, signal }, { tops }) {
  const format = body.response_format?.type === 'text' ? undefined : body.response_format;
  const settings = {
    ...settingsOf(body, engine.info),
    ...toolsOf(body),
    ...(format === undefined ? {} : { response_format: format }),
    ...(tops === null ? {} : { logprobs: tops }),
    signal,
  };
  return engine.chat(messagesOf(body.messages), settings);
}

/**
 * @param {Engine} engine
 * @param {Asked} asked
 * @param {Form} form
 */
function textRun(engine, { body, signal }, { tops }) {
  const settings = {
    max_new_tokens: 16,
    ...settingsOf(body, engine.info),
    ...(tops === null ? {} : { logprobs: tops }),
  };
  return engine.generate(promptOf(body.prompt, engine), { ...settings, signal });
}

/**
 * @param {any} prompt
 * @param {Engine} engine
 */
function promptOf(prompt, { info: { vocabSize } }) {
  const isId = (/** @type {any} */ id) => Number.isInteger(id) && id >= 0 && id < vocabSize;
  const isRow = (/** @type {any} */ row) =>
    typeof row === 'string' || (Array.isArray(row) && row.length && row.every(isId));
  const rows = Array.isArray(prompt) && prompt.length && typeof prompt[0] !== 'number' ? prompt : [prompt];
  if (!rows.every(isRow)) refuse('prompt', `texts, or token ids below ${vocabSize}, are wanted`);
  return prompt;
}

/**
 * @param {string[]} notes
 * @returns {Record<string, string>}
 */
const noteHeaders = (notes) => (notes.length ? { 'qwen2-notes': encodeURIComponent(notes.join('\n')) } : {});

/**
 * @param {Generation} run
 * @param {Form} form
 * @param {string[]} notes
 */
async function wholly(run, form, notes) {
  /** @type {Map<number, import('../types.js').TokenLogprobs[]>} */
  const rows = new Map();
  for await (const { index, logprobs = [] } of run) rows.set(index, [...(rows.get(index) ?? []), ...logprobs]);
  const result = await run.result;
  return json(await wholeAnswer(form, result, rows), 200, noteHeaders([...notes, ...result.notes]));
}

/**
 * A stream begins when there is something to tell: until then a fault has its status. Texts of tokens cannot be had while the
 * engine is at work, so log-probabilities come when the answer is whole.
 * @param {Generation} run
 * @param {Form} form
 * @param {boolean} usage
 * @param {string[]} notes
 */
async function streamed(run, form, usage, notes) {
  if (form.tops !== null) await run.result;
  const chunks = run[Symbol.asyncIterator]();
  const first = await chunks.next();
  const events = eventsOf(run, chunks, first, new ChunkWriter(form, usage));
  const encoder = new TextEncoder();
  const body = new ReadableStream({
    async pull(controller) {
      const { done, value } = await events.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(`data: ${value}\n\n`));
    },
    async cancel() {
      await chunks.return?.();
    },
  });
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...noteHeaders(notes) };
  return new Response(body, { headers });
}

/**
 * @param {Generation} run
 * @param {AsyncIterator<import('../types.js').Chunk>} chunks
 * @param {IteratorResult<import('../types.js').Chunk>} first
 * @param {ChunkWriter} writer
 */
async function* eventsOf(run, chunks, first, writer) {
  const begun = new Set();
  const begin = (/** @type {number} */ index) => (begun.has(index) ? null : begun.add(index) && writer.begin(index));
  try {
    for (let next = first; !next.done; next = await chunks.next()) {
      const said = [begin(next.value.index), await writer.part(next.value)];
      for (const chunk of said) if (chunk) yield JSON.stringify(chunk);
    }
    const result = await run.result;
    const ends = [...result.sequences.map(({ index }) => begin(index)), ...writer.end(result)];
    for (const chunk of ends) if (chunk) yield JSON.stringify(chunk);
  } catch (error) {
    yield JSON.stringify(errorBody(refusalOf(error)));
  }
  yield '[DONE]';
}
