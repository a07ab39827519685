// The worker on a machine that refuses some memories: QW_REFUSE is 'all', 'shared', a number of pages that a memory may have
// at most, or 'shared>' and such a number, for shared ones.
const refuse = process.env.QW_REFUSE ?? '';
const sharedPages = refuse.startsWith('shared>') ? Number(refuse.slice(7)) : refuse === 'shared' ? 0 : Infinity;

WebAssembly.Memory = new Proxy(WebAssembly.Memory, {
  /** @param {[WebAssembly.MemoryDescriptor]} args */
  construct(Memory, [options]) {
    // The small memory of the plan grows: it has another maximum than initial size.
    const fixed = options.initial === options.maximum;
    const most = options.shared ? sharedPages : Infinity;
    if (fixed && (refuse === 'all' || options.initial > most || options.initial > Number(refuse))) {
      throw new RangeError('could not allocate memory');
    }
    return new Memory(options);
  },
});

await import('../../../dist/node-worker.mjs');
