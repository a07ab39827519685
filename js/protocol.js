// Every message between a page (or Node's main thread) and its workers, and how an error crosses. A request has an id; its
// answers carry the same id and end with 'done' or 'error'. The page sends one request at a time (queue.js), so a worker
// never has two at work; 'cancel', 'verdict' and 'bytes' may come in between.
import { qwenError } from './errors.js';

/** @typedef {import('./errors.js').QwenError} QwenError */
/** @typedef {import('./types.js').Progress} Progress */
/** @typedef {import('./types.js').Chunk} Chunk */

/**
 * stack and cause: of our own faults ('internal'), for a report of them.
 * @typedef {{ code: import('./errors.js').ErrorCode, message: string, stack?: string, cause?: PlainCause }} PlainError
 * @typedef {{ name: string, message: string, stack?: string }} PlainCause
 */

/**
 * Where the bytes of one file are. url: http(s) or, in Node, file; page: a ModelFile that only the page can read, asked for
 * with 'read' messages; sources: several places of one file, tried in order, each a list of parts; chunks: the hexadecimal
 * sums of its chunks of so many bytes, joined.
 * @typedef {{ kind: 'url', url: string }
 *   | { kind: 'blob', blob: Blob }
 *   | { kind: 'page', file: number, size: number }
 *   | { kind: 'sources', bytes: number, sha256: string, sources: { bytes: number, urls: string[] }[][],
 *       chunks?: { bytes: number, sha256: string } }} FilePlace
 */

/**
 * A ModelSource made plain: the file to begin with, the files that are named, and the URL beside which others are found
 * (null: there are no others). origin: the only one that gets the token.
 * @typedef {{ main: string, files: Record<string, FilePlace>, siblings: string | null, origin: string | null }} PlainSource
 */

/**
 * Which wasm files there are, by build ('', '-threads', '-relaxed', '-threads-relaxed'), and what was asked for. trial: a
 * trial (trial.js) may still find that the base build is faster than the relaxed one.
 * @typedef {{ urls: Record<string, string>, threads: number, shared: boolean, relaxed: boolean, trial: boolean }} WasmChoice
 */

/**
 * @typedef {object} LoadRequest
 * @property {PlainSource} source
 * @property {WasmChoice} wasm
 * @property {{ contextLength?: number, maxRows?: number, kvType?: string, quantize?: string }} engine LoadOptions that C checks
 * @property {'auto' | false | string} cache
 * @property {string | Record<string, string>} [sha256]
 * @property {string} [token]
 */

/**
 * Text (with the byte offsets at which no control token may start) or ids.
 * @typedef {{ text: string, blocked?: number[] } | { ids: Int32Array }} Prompt
 */

/**
 * @typedef {object} GenerateRequest
 * @property {Prompt[]} prompts
 * @property {string} settings JSON as settings.h takes it
 * @property {Uint8Array} stops stop strings as stop.h packs them
 * @property {number} maxTime seconds; Infinity where there is no limit
 * @property {boolean} ask whether a 'verdict' is to be waited for after each token
 * @property {string | null} processor URL of the logits_processor module
 */

/**
 * @typedef {object} ForwardRequest
 * @property {Int32Array} ids rows without padding, one after the other
 * @property {Int32Array} lengths
 * @property {Uint8Array} keep one byte a token: logits are wanted there
 * @property {number} width L, the padded length
 * @property {number[]} positions kept positions 0..L-1, the K of the result
 * @property {boolean} hidden
 * @property {{ vocabSize: number, hiddenSize: number, layers: number }} shape
 */

/**
 * Requests by type: what is sent and what 'done' brings.
 * @typedef {{
 *   load: [LoadRequest, { info: import('./types.js').ModelInfo, specialTokens: string[], templates: Record<string, string>, variables: Record<string, string> }],
 *   plan: [LoadRequest, import('./types.js').MemoryPlan],
 *   fetch: [LoadRequest, { bytes: number, notes: string[] }],
 *   selftest: [{ wasm: WasmChoice }, { ok: boolean, report: string }],
 *   tokenize: [{ prompts: Prompt[], parseSpecial: boolean }, Int32Array[]],
 *   detokenize: [{ ids: Int32Array, skipSpecial: boolean }, string],
 *   checkFormat: [{ format: string }, import('./types.js').FormatReport],
 *   generate: [GenerateRequest, import('./types.js').Result],
 *   prefill: [{ prompt: Prompt }, { tokens: number }],
 *   forward: [ForwardRequest, { logits: Float32Array, hidden: Float32Array[] }],
 *   render: [{ template: string, variables: Record<string, unknown> }, string],
 * }} Requests
 */

/**
 * A request of that type as it is sent.
 * @template {keyof Requests} T
 * @typedef {T extends keyof Requests ? { type: T, id: number } & Requests[T][0] : never} RequestMessage
 */

/**
 * What a page may say about a request that is under way. cancel: soft ends the rows and answers with what there is, hard
 * answers with 'aborted'. verdict: rows that the caller's predicate ends. bytes: the answer to 'read'. thread: what one of the
 * engine's threads says. ping: asks for an 'alive'.
 * @typedef {{ type: 'cancel', id: number, soft: boolean }
 *   | { type: 'verdict', end: number[] }
 *   | { type: 'bytes', call: number, bytes?: Uint8Array, error?: PlainError }
 *   | { type: 'thread', thread: number, message: any }
 *   | { type: 'ping' }} Notification
 *
 * @typedef {RequestMessage<keyof Requests> | Notification} ToWorker
 */

/**
 * What a worker says. ready: the script runs. read: the bytes of a page's ModelFile are wanted. fatal: the engine is lost.
 * thread: what is said to one of the engine's threads, which is made for the first of it. alive: the event loop turns.
 * @typedef {{ type: 'ready' }
 *   | { type: 'done', id: number, value: any }
 *   | { type: 'error', id: number, error: PlainError }
 *   | { type: 'progress', id: number, progress: Progress }
 *   | { type: 'chunks', id: number, chunks: Chunk[], ask: boolean }
 *   | { type: 'read', call: number, file: number, offset: number, length: number }
 *   | { type: 'thread', thread: number, message: any }
 *   | { type: 'alive' }
 *   | { type: 'fatal', error: PlainError }} Answer
 */

/** What follows qwen2 in the names of the wasm files. */
export const BUILDS = ['', '-threads', '-relaxed', '-threads-relaxed'];

/** @param {{ shared: boolean, relaxed: boolean }} choice */
export const buildName = ({ shared, relaxed }) => `${shared ? '-threads' : ''}${relaxed ? '-relaxed' : ''}`;

/** Names of the workers, by which one script knows its part. That of a thread is Emscripten's. */
export const ENGINE_WORKER = 'qwen2-engine';
export const TEMPLATE_WORKER = 'qwen2-template';
export const THREAD_WORKER = 'em-pthread';

/**
 * @param {QwenError} error
 * @returns {PlainError}
 */
export function errorToPlain({ code, message, stack, cause }) {
  if (code !== 'internal') return { code, message };
  if (!(cause instanceof Error)) return { code, message, stack };
  return { code, message, stack, cause: { name: cause.name, message: cause.message, stack: cause.stack } };
}

/** @param {PlainError} plain */
export function plainToError({ code, message, stack, cause }) {
  const error = qwenError(code, message, cause && Object.assign(new Error(cause.message), cause));
  if (stack) error.stack = stack;
  return error;
}
