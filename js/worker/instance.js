// Instances of a compiled build. Emscripten's glue is what starts the threads of one; each is a worker that the page makes.
import createQwen2 from '../../build/wasm/qwen2.js';
import { compileError } from './compile.js';
import { growingMemory } from './memory.js';
import { Thread } from './threads.js';

/** @typedef {Record<string, (...args: number[]) => number>} Instance Emscripten's module, with the exports as _qwx_NAME */

/**
 * @param {WebAssembly.Module} module
 * @param {WebAssembly.Memory} memory
 * @returns {Promise<Instance>}
 */
export function instantiate(module, memory) {
  return new Promise((resolve, reject) => {
    createQwen2({
      wasmMemory: memory,
      instantiateWasm(imports, done) {
        WebAssembly.instantiate(module, imports).then((started) => done(started, module), reject);
        return {};
      },
    }).then((instance) => {
      const { PThread } = instance;
      PThread.allocateUnusedWorker = () => PThread.unusedWorkers.push(new Thread());
      resolve(instance);
    }, reject);
  }).catch((error) => {
    throw compileError('qwen2.wasm', error);
  });
}

/**
 * The trial of a build of one thread, in an instance of its own: a call takes some milliseconds and returns the seconds that a
 * product takes with the build's fastest kernel, 0 where there is no memory.
 * @param {WebAssembly.Module} module
 * @returns {Promise<() => number>}
 */
export async function startTrial(module) {
  const instance = await instantiate(module, growingMemory());
  return () => instance._qwx_trial();
}
