// The worker with a clock that runs a hundred times as fast.
const { setTimeout } = globalThis;
globalThis.setTimeout = (task, ms, ...args) => setTimeout(task, ms / 100, ...args);

await import('../../../dist/node-worker.mjs');
