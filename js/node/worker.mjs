// In Node: makes a worker's globals of worker_threads, so that worker.js runs as it does in a browser, and hands it the file
// system. The engine's threads come through here too.
import fs from 'node:fs';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import * as threads from 'node:worker_threads';
import { TEMPLATE_WORKER } from '../protocol.js';
import * as files from './files.js';

const scope = /** @type {any} */ (globalThis);
const port = /** @type {import('node:worker_threads').MessagePort} */ (threads.parentPort);

scope.self = globalThis;
scope.name = threads.workerData?.name ?? '';
scope.location = new URL(import.meta.url);
scope.qwen2Node = files;
// What this thread holds goes with it: host.js sees to that.
files.lockWatch.onHold = (file) => port.postMessage({ lock: file });
// Emscripten's glue takes these as the signs of a worker.
scope.WorkerGlobalScope = class {};
scope.importScripts = () => {};
scope.addEventListener ??= () => {};
// Node 20 has none; C asks it for the number of cores.
scope.navigator ??= { hardwareConcurrency: os.availableParallelism() };
scope.postMessage = (/** @type {any} */ message, /** @type {any} */ transfer) => port.postMessage(message, transfer);

const network = globalThis.fetch;
globalThis.fetch = async (/** @type {any} */ url, /** @type {any} */ options) => {
  if (!String(url).startsWith('file:')) return network(url, options);
  return new Response(fs.readFileSync(fileURLToPath(String(url))), { headers: { 'Content-Type': 'application/wasm' } });
};

if (scope.name === TEMPLATE_WORKER) await import('../worker/template-worker.js');
else await import('../worker/worker.js');
// Only now, or messages that came meanwhile would find no onmessage (seen in Node 20).
port.on('message', (data) => scope.onmessage?.({ data, target: globalThis }));
