// The worker on a machine that refuses some memories: QW_REFUSE is 'all', 'shared', a number of pages that a memory may have
// at most, or 'shared>' and such a number, for shared ones.
const refuse = process.env.QW_REFUSE ?? '';
const sharedPages = refuse.startsWith('shared>') ? Number(refuse.slice(7)) : refuse === 'shared' ? 0 : Infinity;

WebAssembly.Memory = new Proxy(WebAssembly.Memory, {
  /** @param {[WebAssembly.MemoryDescriptor]} args */
  construct(Memory, [options]) {
    // The small memory of the plan begins with 2 MB, which no engine does.
    const fixed = options.initial > 32;
    const most = options.shared ? sharedPages : Infinity;
    if (fixed && (refuse === 'all' || options.initial > most || options.initial > Number(refuse))) {
      throw new RangeError('could not allocate memory');
    }
    return new Memory(options);
  },
});

await import('../../../dist/node-worker.mjs');
