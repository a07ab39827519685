// Lets a worker's event loop turn once, so that messages are seen and new threads can start. setTimeout would wait for
// milliseconds.

/** @type {MessageChannel | null} */
let channel = null;
/** @type {(() => void)[]} */
const waiting = [];

/** @returns {Promise<void>} */
export function turn() {
  // Node goes on with the messages of one port, up to a thousand, before it looks at another.
  if (typeof setImmediate === 'function') return new Promise((resolve) => setImmediate(resolve));
  if (!channel) {
    channel = new MessageChannel();
    channel.port1.onmessage = () => waiting.shift()?.();
  }
  const { port2 } = channel;
  return new Promise((resolve) => {
    waiting.push(resolve);
    port2.postMessage(0);
  });
}
