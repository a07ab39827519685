// The worker that dies by itself a while after its start.
setTimeout(() => {
  throw new Error('died by itself');
}, 700);

await import('../../../dist/node-worker.mjs');
