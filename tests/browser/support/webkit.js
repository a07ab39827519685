// WebKitGTK's MiniBrowser on a screen in memory, driven over the W3C WebDriver protocol.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { findWebKitDriver } from '../../../scripts/lib/browsers.mjs';

const MINI_BROWSER = { binary: '/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser', args: ['--automation'] };
const SCRIPT_SECONDS = 120;

/** A port that is free now. */
async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** @returns {Promise<import('./drivers.js').Driven>} */
export async function launchWebKit() {
  const port = await freePort();
  const driver = spawn('xvfb-run', ['-a', findWebKitDriver(), `--port=${port}`], {
    env: { ...process.env, WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1' },
    stdio: 'ignore',
    detached: true,
  });

  /** One command of the protocol; its value. */
  async function command(method, path, body) {
    const response = await fetch(`http://127.0.0.1:${port}/session${path}`, {
      method,
      body: body && JSON.stringify(body),
    });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`);
    return value;
  }

  async function session() {
    const capabilities = { alwaysMatch: { browserName: 'MiniBrowser', 'webkitgtk:browserOptions': MINI_BROWSER } };
    for (let tries = 0; ; tries++) {
      try {
        return await command('POST', '', { capabilities });
      } catch (error) {
        if (tries === 100 || !/fetch failed/.test(String(error))) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  const { sessionId } = await session();
  const at = `/${sessionId}`;
  await command('POST', `${at}/timeouts`, { script: SCRIPT_SECONDS * 1000 });

  /** Commands go to the window that was switched to last. */
  async function open(url, handle) {
    const inWindow = async (method, path, body) => {
      await command('POST', `${at}/window`, { handle });
      return command(method, `${at}${path}`, body);
    };
    await inWindow('POST', '/url', { url });
    return {
      goto: (next) => inWindow('POST', '/url', { url: next }),
      reload: () => inWindow('POST', '/refresh', {}),
      async evaluate(script, ...args) {
        const body = `const done = arguments[arguments.length - 1];
          (async () => (${script})(...Array.prototype.slice.call(arguments, 0, -1)))()
            .then((value) => done({ value }), (error) => done({ error: String(error) }));`;
        const { value, error } = await inWindow('POST', '/execute/async', { script: body, args });
        if (error) throw new Error(error);
        return value;
      },
      close: () => inWindow('DELETE', '/window'),
    };
  }

  // The window that the session began with stays: the last one takes the session with it.
  const handle = await command('GET', `${at}/window`);
  return {
    async open(url) {
      await command('POST', `${at}/window`, { handle });
      const made = await command('POST', `${at}/window/new`, { type: 'tab' });
      return open(url, made.handle);
    },
    async close() {
      await command('DELETE', at).catch(() => {});
      process.kill(-(/** @type {number} */ (driver.pid)));
    },
  };
}
