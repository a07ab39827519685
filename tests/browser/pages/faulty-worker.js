// worker.js in a browser with a fault, which the worker's own address names: refuse-shared, quota.
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

importScripts('/dist/worker.js');
