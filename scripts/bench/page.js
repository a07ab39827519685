// What only a page can tell: loads beside plain reading, and what an engine does that has nothing to do. Called by page.mjs.
import { Engine } from '/dist/index.js';
import { measure } from './engine.js';

const OPTIONS = { contextLength: 2048 };

/** Milliseconds that the work takes, the least of two runs. */
async function least(work) {
  let ms = Infinity;
  for (let i = 0; i < 2; i++) {
    const start = performance.now();
    ms = Math.min(ms, (await work()) ?? performance.now() - start);
  }
  return ms;
}

async function fetchToEnd(url) {
  const reader = (await fetch(url)).body.getReader();
  while (!(await reader.read()).done);
}

/** Runs in a worker, where files can be read at once: milliseconds from opening the largest kept file to its end. */
async function readKept() {
  const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('qwen2-wasm');
  const files = [];
  for await (const handle of folder.values()) files.push({ handle, size: (await handle.getFile()).size });
  const { handle } = files.sort((a, b) => b.size - a.size)[0];
  const buffer = new Uint8Array(4 << 20);
  const start = performance.now();
  const file = await handle.createSyncAccessHandle({ mode: 'read-only' });
  for (let at = 0, n; (n = file.read(buffer, { at })) > 0; at += n);
  file.close();
  return performance.now() - start;
}

function inWorker(work) {
  const script = URL.createObjectURL(new Blob([`(${work})().then(postMessage)`], { type: 'text/javascript' }));
  return new Promise((resolve, reject) => {
    const worker = new Worker(script);
    const end = (settle) => (event) => {
      worker.terminate();
      settle(event.data ?? new Error(event.message));
    };
    worker.onmessage = end(resolve);
    worker.onerror = end(reject);
  });
}

/** Milliseconds from the server and from the private file system: to an engine that is ready, and of reading alone. */
async function loads(url) {
  const load = async (cache) => {
    const start = performance.now();
    const engine = await Engine.load(url, { ...OPTIONS, cache });
    const ms = performance.now() - start;
    await engine.close();
    return ms;
  };
  const server = { read: await least(() => fetchToEnd(url)), load: await least(() => load(false)) };
  await load('auto');
  const opfs = { load: await least(() => load('auto')), read: await least(() => inWorker(readKept)) };
  return { server, opfs };
}

/** Leaves an engine that has generated and now waits; window.done closes it. */
async function rest(url) {
  const engine = await Engine.load(url, { ...OPTIONS, cache: false });
  await engine.generate('It is a truth', { max_new_tokens: 16 }).result;
  window.done = () => engine.close();
}

/** Bytes of this page and its workers (memory of wasm included) before and after n short generations, garbage not counted. */
async function manyGenerations(url, n) {
  const engine = await Engine.load(url, { contextLength: 256, cache: false });
  const generate = () => engine.generate('It is a truth', { max_new_tokens: 4, do_sample: true }).result;
  const bytes = async () => (await performance.measureUserAgentSpecificMemory()).bytes;
  for (let i = 0; i < 100; i++) await generate();
  const before = await bytes();
  for (let i = 0; i < n; i++) await generate();
  const after = await bytes();
  await engine.close();
  return { n, before, after };
}

Object.assign(window, {
  measure: (url, groups, options) => measure(Engine, url, groups, { dist: `${location.origin}/dist/`, ...options }),
  loads,
  rest,
  manyGenerations,
  ready: true,
});
