// The worker with an engine that hangs: its third step never returns.
const instantiate = WebAssembly.instantiate;
WebAssembly.instantiate = async (module, imports) => {
  const instance = await instantiate(module, imports);
  let steps = 0;
  const exports = { ...instance.exports };
  exports.qwx_step = (...args) => {
    if (++steps === 3) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    return instance.exports.qwx_step(...args);
  };
  return { exports };
};

await import('../../../dist/node-worker.mjs');
