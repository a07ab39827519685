/**
 * Shapes of the public API that are only types. Classes and functions are declared where they are written.
 */

/** Random access to one named file; the engine asks for the ranges it wants. `size` in bytes. */
export interface ModelFile {
  name: string;
  size: number;
  /** Resolves to exactly the bytes [offset, offset+length), or rejects. */
  read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>;
}

/**
 * A GGUF file, a sharded GGUF, or a Hugging Face checkpoint folder (config.json, tokenizer.json, *.safetensors, index.json).
 * string/URL: an http(s) URL, in Node also a path or file: URL; a URL or path that ends in `/` is a checkpoint folder.
 * Blob/File(s): picked or dropped by the visitor; several are told apart by name.
 * A URL or path of a manifest (JSON: files, parts, bytes, hashes, sources) stands for what it lists.
 * {repo}: a Hugging Face repository; revision should be a commit. Nothing but the named source is contacted.
 * Relative strings resolve against document.baseURI, in Node against the working directory.
 */
export type ModelSource =
  | string
  | URL
  | Blob
  | ModelFile
  | Array<string | URL | Blob | ModelFile>
  | { repo: string; file?: string; revision?: string; endpoint?: string };

/** Token ids: number[], Int32Array and the like. */
export type Ids = ArrayLike<number>;

export interface Progress {
  /** 'download': from the source; 'cache': from this device. One count that only grows, over all files. */
  phase: 'download' | 'cache' | 'prefill';
  /** Bytes (tokens while phase is 'prefill'). The total is null while it is not known yet; it is before the first weight byte. */
  loaded: number;
  total: number | null;
  /** Of the last seconds; null in the first half second, and (like secondsLeft) where it cannot be told. Not there while phase is 'prefill'. */
  bytesPerSecond?: number | null;
  secondsLeft?: number | null;
}

export interface LoadOptions {
  /** Tokens that the KV cache can hold: one pool, shared by all rows of a batch, reserved at load. Default min(4096, the model's limit). */
  contextLength?: number;
  /** Rows that may run together (batch × num_return_sequences). Default 8; more is a usage error. */
  maxRows?: number;
  /** Default 'auto': min(hardwareConcurrency, 8) where the page is cross-origin isolated (in Node always), else 1. */
  threads?: number | 'auto';
  /** Default 'auto': relaxed SIMD where this machine has it. */
  simd?: 'auto' | 'base' | 'relaxed';
  /** Type of the KV cache. Default 'f16'; 'f32' where quantize is 'none'. */
  kvType?: 'f32' | 'f16' | 'q8_0';
  /** F32, F16 and BF16 matrices are brought to this type while they stream in; default 'q8_0'. 'none' keeps their bits and computes in float32. */
  quantize?: 'none' | 'q8_0' | 'q4_0';
  /** Default 'auto': OPFS in browsers, a folder in Node; a string names another folder; false keeps nothing. */
  cache?: 'auto' | false | string;
  /** Expected SHA-256 (of the one file, or per file name); a mismatch is an error and nothing is kept. */
  sha256?: string | Record<string, string>;
  /** Sent as a bearer token, only to the source's own origin. Never stored. */
  token?: string;
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
  /** Where the worker script is, for pages that move it. Default: beside the importing module. */
  workerUrl?: string | URL;
  /** A folder (ends in `/`) with qwen2[-threads][-relaxed].wasm, or one of these files, which forces that build. Default: beside the importing module. */
  wasmUrl?: string | URL;
}

export interface Capabilities {
  simd: boolean;
  relaxedSimd: boolean;
  threads: boolean;
  crossOriginIsolated: boolean;
  hardwareConcurrency: number;
  /** One sentence for each ability that is missing, with what would bring it. */
  notes: string[];
}

export interface MemoryPlan {
  /** Bytes that load() would fetch from the source. */
  downloadBytes: number;
  /** Bytes that are on this device already. */
  cachedBytes: number;
  weightBytes: number;
  kvBytes: number;
  /** The linear memory that load() would make: the peak while loading and while running. */
  peakBytes: number;
  /** Room for keeping models on this device; 0 where nothing can be kept, null where it is not known. */
  storageBytes: number | null;
  fits: boolean;
  /** When it does not fit: what would. */
  advice: string[];
}

/** A model's file that is kept, or was begun. */
export interface CacheEntry {
  key: string;
  name: string;
  bytes: number;
  complete: boolean;
  lastUsed: Date;
}

/** Weights kept on this device (OPFS, or a folder in Node). */
export interface ModelCache {
  list(): Promise<CacheEntry[]>;
  delete(key: string): Promise<void>;
  clear(): Promise<void>;
  /** Removes what was used the longest ago until so many bytes have gone; resolves to how many did. */
  evict(bytes: number): Promise<number>;
  /** Brings a model to this device without loading it, or the rest of one. */
  fetch(source: ModelSource, options?: LoadOptions): Promise<{ bytes: number; notes: string[] }>;
  /** Asks the browser not to evict them (navigator.storage.persist). */
  persist(): Promise<boolean>;
}

export interface ModelInfo {
  name: string;
  architecture: 'qwen2';
  parameters: number;
  layers: number;
  hiddenSize: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  vocabSize: number;
  /** Of the pool in use, and the model's own limit. */
  contextLength: number;
  trainedContextLength: number;
  tiedEmbeddings: boolean;
  /** What load() found odd but could go on with. */
  notes: string[];
  /** Bytes of weights by stored type, as {'q8_0': 525000000}. */
  weightTypes: Record<string, number>;
  eosTokenIds: number[];
  padTokenId: number | null;
  chatTemplate: string | null;
  /** The model's own generation defaults. */
  generationConfig: GenerationSettings;
  threads: number;
  simd: 'base' | 'relaxed';
  /** Size of the wasm file in use, and of its linear memory now. */
  wasmBytes: number;
  memoryBytes: number;
}

export interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string | Array<{ type: 'text'; text: string }> | null;
  tool_calls?: ToolCall[];
  [key: string]: unknown;
}

/** OpenAI's shapes; `parameters` is a JSON Schema. */
export interface Tool {
  type: 'function';
  function: { name: string; description?: string; parameters?: object; strict?: boolean };
}
export type ToolChoice = 'auto' | 'none' | 'required' | { type: 'function'; function: { name: string } };
export interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}
/** A piece of a call while it streams: id, type and name come with the first piece of an index, arguments' pieces joined are the JSON text. */
export interface ToolCallDelta {
  index: number;
  id?: string;
  type?: 'function';
  function: { name?: string; arguments?: string };
}

/**
 * Names and meaning of Hugging Face's generation_config.json; presence/frequency penalties and logit_bias are OpenAI's.
 * A key that is left out takes the model's generation_config.json, then Transformers' default (with do_sample, top_k is 50). One exception: without any
 * length key, generation goes to EOS or the end of the context, not to Transformers' 20 tokens. A temperature without do_sample is greedy in generate(),
 * as in Transformers, and Result.notes says so.
 */
export interface GenerationSettings {
  max_new_tokens?: number;
  max_length?: number;
  min_length?: number;
  min_new_tokens?: number;
  remove_invalid_values?: boolean;
  renormalize_logits?: boolean;
  do_sample?: boolean;
  temperature?: number;
  top_k?: number;
  top_p?: number;
  min_p?: number;
  typical_p?: number;
  epsilon_cutoff?: number;
  eta_cutoff?: number;
  repetition_penalty?: number;
  presence_penalty?: number;
  frequency_penalty?: number;
  no_repeat_ngram_size?: number;
  bad_words_ids?: number[][];
  sequence_bias?: Array<[number[], number]>;
  logit_bias?: Record<number, number>;
  suppress_tokens?: number[];
  begin_suppress_tokens?: number[];
  /** The last token that max_new_tokens, max_length or the context allows. */
  forced_eos_token_id?: number | number[];
  exponential_decay_length_penalty?: [number, number];
  eos_token_id?: number | number[];
  pad_token_id?: number;
  stop_strings?: string | string[];
  /** Seconds. */
  max_time?: number;
  num_return_sequences?: number;
}

/** The form that an answer has, held token by token: what cannot be completed is never chosen. */
export type ResponseFormat =
  | { type: 'text' }
  /** Any JSON object. */
  | { type: 'json_object' }
  /** JSON that meets the schema (2020-12, or by $schema 2019-09, 7, 6, 4), keys in the order of `properties`. What cannot be held exactly is refused by pointer and keyword before the first token; with lenient it is passed over and told in notes. */
  | {
      type: 'json_schema';
      json_schema: {
        name?: string;
        description?: string;
        schema: object | boolean;
        strict?: boolean;
        lenient?: boolean;
      };
    }
  /** ECMA-262's regular part, with the u flag; the whole text matches. Lookaround, backreferences and \\b are refused by name. */
  | { type: 'regex'; regex: string | RegExp }
  | { type: 'choice'; choices: string[] }
  /** GBNF as llama.cpp has it; root (default "root") is the rule to begin with, <[id]> and <name> are tokens. */
  | { type: 'grammar'; grammar: string; root?: string };

/** What choose() tells: the most probable choice, each one's log-probability as a whole answer, and their shares of 1 among the choices. */
export interface Choice {
  index: number;
  text: string;
  logprobs: number[];
  probabilities: number[];
}

/** What checkFormat() tells; pointers are into the schema, "" for all of it or a form of another type. */
export interface FormatReport {
  ok: boolean;
  notes: string[];
  unsupported: Array<{ pointer: string; keyword: string; why: string }>;
}

export interface RunOptions {
  /** Unsigned 32-bit; default: random, and told in Result. Row r has the seed (seed + r) mod 2^32. */
  seed?: number;
  /** Continues a generator where an earlier Result left it; instead of seed. */
  rng_state?: string;
  /** The form of every answer of the call; it combines with every other setting. Default: any text. */
  response_format?: ResponseFormat;
  /** Default true: where max_new_tokens or the context comes near, only tokens behind which those that are left can complete the text are chosen; where there are none, the answer may be cut (format.complete). Without a response_format it does nothing. */
  finish_in_budget?: boolean;
  /** Between the parts of JSON. bounded (default): after { [ , and before } ] nothing, a space, or a newline and up to four spaces a level, after : nothing or a space; compact: none; any: as JSON has it. */
  whitespace?: 'bounded' | 'compact' | 'any';
  /** Log-probabilities of the chosen and of the n most probable tokens, before (raw) and after processing. */
  logprobs?: number;
  /** Default true. */
  skip_special_tokens?: boolean;
  /** A module imported in the worker, same origin; its default export (ids: Int32Array, scores: Float32Array) => void edits scores in place after all other processors that are not warpers. */
  logits_processor?: string | URL;
  /** Called after each token of each row; true ends that row and nothing after that token is emitted. Costs a round trip to the page per token. */
  stopping?: (row: { index: number; token_ids: number[]; text: string }) => boolean;
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

export interface ChatOptions {
  tools?: unknown[];
  /** 'auto' (default) leaves calls to the model, 'none' reads none. 'required' or a tool's name: the answer is one or more calls (one without parallel_tool_calls) whose arguments fit the tool's parameters; with a response_format it is refused. */
  tool_choice?: ToolChoice;
  /** false: the calls after the first are left out. Default true; where tool_choice requires a call, further ones are allowed only with true. */
  parallel_tool_calls?: boolean;
  /** 'lenient' (default) also takes an answer that is one bare or fenced call of a given tool. */
  tool_parsing?: 'strict' | 'lenient';
  /** Models that think in <think> tags: 'auto' (default) tells reasoning and text apart, 'raw' leaves all in text. */
  thinking?: 'auto' | 'raw';
  /**
   * A conversation that leaves no room: 'error' (default) rejects with 'context'; 'oldest-turns' drops turns from the start until max_new_tokens (a
   * quarter of the context where none are given) fit; the system prompt and the last turn stay, and Result.notes tells what went.
   */
  truncate?: 'error' | 'oldest-turns';
  /** A Jinja template instead of the model's own, or the name of one that it brings (as 'default', 'tool_use'); 'chatml' is the built-in ChatML. */
  template?: string;
  /** The last message is an assistant's and is gone on with, as in Transformers' chat templates: what comes is the rest of it. Default false. */
  continue_final_message?: boolean;
}

/** A tool of runTools(): execute gets the parsed arguments; what it returns becomes the tool's turn, as text or JSON. */
export type RunnableTool = Tool & { execute: (args: any, signal: AbortSignal) => unknown };

export type RunToolsSettings = GenerationSettings &
  RunOptions &
  ChatOptions & {
    /** Default 8. */
    maxRounds?: number;
    /** A tool that throws, or arguments that are no JSON: 'tell' (default) tells the model, 'throw' rejects. */
    onError?: 'throw' | 'tell';
  };

export interface TokenLogprobs {
  token_id: number;
  raw: number;
  processed: number;
  top_raw: Array<[number, number]>;
  top_processed: Array<[number, number]>;
}

export interface Chunk {
  /** Row of the batch (prompt-major, then num_return_sequences). */
  index: number;
  /** Whole UTF-8 characters only; never text that a stop string may still swallow. */
  text: string;
  /** Of models that think, in chat(): what stands before the answer; text is then the answer alone. */
  reasoning?: string;
  tool_calls?: ToolCallDelta[];
  token_ids: number[];
  logprobs?: TokenLogprobs[];
}

/** 'tool_calls': it ended by itself with whole calls. 'length': max_new_tokens, max_length, or the context is full. 'aborted': the loop was left early. */
export type FinishReason = 'eos' | 'stop_string' | 'length' | 'time' | 'stopping' | 'aborted' | 'tool_calls';

export interface Sequence {
  index: number;
  /** All chunks' text joined. Ends before a stop string; token_ids keep the tokens that completed it. */
  text: string;
  /** New tokens only, the end-of-sequence token included where it ended the row, without padding. */
  token_ids: number[];
  finish_reason: FinishReason;
  /** Where a response_format is given: whether the text may end where it does. */
  format?: { complete: boolean };
  /** Of chat(): the thought, '' for an empty one; absent where there was none. */
  reasoning?: string;
  tool_calls?: ToolCall[];
}

export interface Result {
  sequences: Sequence[];
  /** What Transformers' generate() returns: prompts left-padded, outputs right-padded with pad_token_id, [rows, width]. */
  padded_ids: number[][];
  seed: number;
  rng_state: string;
  /** Remarks, as that a temperature was ignored because do_sample is false. */
  notes: string[];
  usage: { prompt_tokens: number; cached_tokens: number; completion_tokens: number; reasoning_tokens?: number };
  /** Milliseconds. */
  timings: { queue: number; prefill: number; decode: number };
}

/**
 * for await (const chunk of generation) …; await generation.result. Generation starts at the call, whether or not anyone iterates.
 * One consumer: the iterator or textStream(); chunks are kept until it comes. Leaving the loop early cancels: result resolves with what
 * there is and finish_reason 'aborted'. The caller's AbortSignal makes iterator and result reject with code 'aborted'.
 */
export interface Generation extends AsyncIterable<Chunk> {
  readonly result: Promise<Result>;
  /** The text of row 0 as a stream, for Response, pipeTo and the like. */
  textStream(): ReadableStream<string>;
}

export interface ForwardInput {
  input_ids: Ids[];
  attention_mask?: number[][];
  logits_to_keep?: number | number[];
  output_hidden_states?: boolean;
  signal?: AbortSignal;
}

export interface ForwardOutput {
  logits: Float32Array;
  shape: [number, number, number];
  hidden?: Float32Array[];
}
