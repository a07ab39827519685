// worker.js in a browser with a fault, which the worker's own address names: refuse-shared, quota, one-reader,
// hang-threads.
const fault = new URL(self.location.href).searchParams.get('fault');

if (fault === 'refuse-shared') {
  const { Memory } = WebAssembly;
  WebAssembly.Memory = function (options) {
    if (options.shared) throw new RangeError('could not allocate memory');
    return new Memory(options);
  };
  WebAssembly.Memory.prototype = Memory.prototype;
}

if (fault === 'quota') {
  const { write } = FileSystemSyncAccessHandle.prototype;
  FileSystemSyncAccessHandle.prototype.write = function (bytes, options) {
    if (bytes.length > 1000 && options.at > 2_000_000) throw new DOMException('no room', 'QuotaExceededError');
    return write.call(this, bytes, options);
  };
}

// Without the mode for readers, while another tab holds the file.
if (fault === 'one-reader') {
  const { createSyncAccessHandle } = FileSystemFileHandle.prototype;
  FileSystemFileHandle.prototype.createSyncAccessHandle = function (options) {
    if (options.mode === 'read-only') throw new DOMException('it is open', 'NoModificationAllowedError');
    return createSyncAccessHandle.call(this, options);
  };
}

importScripts('/dist/worker.js');

// The way in which Firefox hung: inside of a call, as soon as there are threads to start.
if (fault === 'hang-threads') {
  const { onmessage } = self;
  self.onmessage = (event) => {
    if (event.data.type === 'load' && event.data.wasm.threads > 1) for (;;);
    onmessage(event);
  };
}
