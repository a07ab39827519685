// The linear memory of an engine: how much it takes, and making it in its final size.
import { messageOf, qwenError } from '../errors.js';

const PAGE = 65536;
const MEMORY_MAX_PAGES = 65536;
/** What the builds are linked with (cmake/wasm.cmake): least memory, stacks of the worker and of each further thread. */
const INITIAL_BYTES = 2 << 20;
const STACK_BYTES = 256 << 10;
const THREAD_BYTES = (128 << 10) + (16 << 10);
/** Static data, and room for what is passed in and out of a call. */
const RUNTIME_BYTES = 4 << 20;
/** The most that it may grow by: what forms of answers take, with room. */
const FORMAT_BYTES = 64 << 20;

/**
 * Pages of the memory that holds a heap of so many bytes and the module itself.
 * @param {number} heapBytes
 * @param {number} threads
 */
export function pagesFor(heapBytes, threads) {
  const bytes = heapBytes + RUNTIME_BYTES + STACK_BYTES + (threads - 1) * THREAD_BYTES;
  return Math.ceil(Math.max(bytes, INITIAL_BYTES) / PAGE);
}

/**
 * A memory of that size, or 'memory' where the machine refuses it. It grows where that is not enough: by the trie of
 * the vocabulary and the states of a form, once a response_format is asked for.
 * @param {number} pages
 * @param {boolean} shared
 */
export function engineMemory(pages, shared) {
  if (pages > MEMORY_MAX_PAGES) throw qwenError('memory', `${mib(pages)} are needed, WebAssembly can have 4096 MiB`);
  const maximum = Math.min(pages + FORMAT_BYTES / PAGE, MEMORY_MAX_PAGES);
  return newMemory({ initial: pages, maximum, shared });
}

/** @param {number} pages */
const mib = (pages) => `${Math.ceil((pages * PAGE) / 2 ** 20)} MiB`;

/** @param {WebAssembly.MemoryDescriptor} descriptor */
function newMemory(descriptor) {
  try {
    return new WebAssembly.Memory(descriptor);
  } catch (error) {
    const what = `${mib(descriptor.initial)} of ${descriptor.shared ? 'shared ' : ''}memory`;
    throw qwenError('memory', `${what} are needed and were refused: ${messageOf(error)}`, error);
  }
}

/**
 * A memory that grows as the engine needs it: for headers only, on one thread.
 */
export const growingMemory = () => newMemory({ initial: INITIAL_BYTES / PAGE, maximum: MEMORY_MAX_PAGES });
