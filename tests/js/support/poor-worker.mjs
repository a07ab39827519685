// The worker on a machine that refuses some memories: QW_REFUSE is 'shared', 'all', or a number of pages.
const refuse = process.env.QW_REFUSE;
const Memory = WebAssembly.Memory;
WebAssembly.Memory = function (options) {
  // The small memory of the plan grows: it has another maximum than initial size.
  const fixed = options.initial === options.maximum;
  if (fixed && (refuse === 'all' || (refuse === 'shared' && options.shared) || options.initial > Number(refuse))) {
    throw new RangeError('could not allocate memory');
  }
  return new Memory(options);
};
WebAssembly.Memory.prototype = Memory.prototype;

await import('../../../dist/node-worker.mjs');
