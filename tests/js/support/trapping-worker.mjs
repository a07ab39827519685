// The worker with an engine that traps: the third step meets an unreachable instruction.
const instantiate = WebAssembly.instantiate;
WebAssembly.instantiate = async (module, imports) => {
  const instance = await instantiate(module, imports);
  let steps = 0;
  const exports = { ...instance.exports };
  exports.qwx_step = (...args) => {
    if (++steps === 3) throw new WebAssembly.RuntimeError('unreachable');
    return instance.exports.qwx_step(...args);
  };
  return { exports };
};

await import('../../../dist/node-worker.mjs');
