// Pages and workers of unusual kinds: Trusted Types, modules of blob: URLs, workers that can start no others, files of frames.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { strictPolicy } from '../../js/cli/static-server.js';
import { at, launch, openTab, serveSite } from './support/browser.js';

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

/** What a function gives in a blank page of a site with this policy; nothing that it must not do may happen. */
async function inPage(options, work, argument) {
  const server = await serveSite(options);
  const tab = await openTab(browser, `${server.url}blank.html`);
  try {
    const answer = await tab.page.evaluate(work, argument);
    tab.expectClean();
    return answer;
  } finally {
    await tab.close();
    await server.close();
  }
}

const load = async (options) => {
  const { Engine } = await import('/dist/index.js');
  const engine = await Engine.load('/models/austen-tiny-q8_0.gguf', { ...options, cache: false });
  const { threads } = engine.info;
  await engine.chat([{ role: 'user', content: 'x' }], { max_new_tokens: 1 }).result; // a template has a worker of its own
  await engine.close();
  return threads;
};

const TRUSTED = `${strictPolicy()}; require-trusted-types-for 'script'`;

test('under Trusted Types the package has a policy of its own, and threads start', async () => {
  assert.equal(await inPage({ policy: `${TRUSTED}; trusted-types qwen2-wasm` }, load, { threads: 2 }), 2);
});

test('a TrustedScriptURL as workerUrl is used as it is', async () => {
  const threads = await inPage({ policy: `${TRUSTED}; trusted-types mine` }, async () => {
    const mine = /** @type {any} */ (globalThis).trustedTypes.createPolicy('mine', { createScriptURL: (url) => url });
    const { Engine } = await import('/dist/index.js');
    const workerUrl = mine.createScriptURL('/dist/worker.js');
    const engine = await Engine.load('/models/austen-tiny-q8_0.gguf', { workerUrl, threads: 2, cache: false });
    await engine.close();
    return engine.info.threads;
  });
  assert.equal(threads, 2);
});

test('index.js from a blob: URL works with workerUrl and wasmUrl', async () => {
  const policy = strictPolicy().replace("script-src 'self'", "script-src 'self' blob:");
  const source = readFileSync(at('dist/index.js'), 'utf8');
  const name = await inPage(
    { policy },
    async (text) => {
      const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
      const { Engine } = await import(url);
      const options = { workerUrl: '/dist/worker.js', wasmUrl: '/dist/', cache: false };
      const engine = await Engine.load('/models/austen-tiny-q8_0.gguf', options);
      await engine.close();
      return engine.info.name;
    },
    source,
  );
  assert.ok(name);
});

test('a shared worker is told where an engine can live', async () => {
  const policy = strictPolicy()
    .replace("worker-src 'self'", "worker-src 'self' blob:")
    .replace("script-src 'self'", "script-src 'self' blob:");
  const error = await inPage({ policy }, async () => {
    const text = `onconnect = async ({ ports: [port] }) => {
      const { Engine } = await import('${location.origin}/dist/index.js');
      Engine.load('${location.origin}/models/austen-tiny-q8_0.gguf').catch(({ code, message }) => port.postMessage({ code, message }));
    }`;
    const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
    const { port } = new SharedWorker(url, { type: 'module' });
    return new Promise((resolve) => (port.onmessage = ({ data }) => resolve(data)));
  });
  assert.equal(error.code, 'environment');
  assert.match(error.message, /^a shared worker cannot start workers.*in a page or in a dedicated worker/);
});

test("a frame's File, a list of picked files and handles of the private file system are sources", async () => {
  const sizes = await inPage({ policy: null }, async () => {
    const { Engine } = await import('/dist/index.js');
    const bytes = await (await fetch('/models/austen-tiny-q8_0.gguf')).blob();
    const frame = document.body.appendChild(document.createElement('iframe'));
    const { File: FramesFile, URL: FramesUrl } = /** @type {any} */ (frame.contentWindow);
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], 'a.gguf'));
    const root = await navigator.storage.getDirectory();
    const folder = await root.getDirectoryHandle('picked', { create: true });
    const handle = await folder.getFileHandle('a.gguf', { create: true });
    const stream = await handle.createWritable();
    await stream.write(bytes);
    await stream.close();
    const sources = [
      new FramesFile([bytes], 'a.gguf'),
      new FramesUrl('/models/austen-tiny-q8_0.gguf', location.href),
      transfer.files,
      handle,
      folder,
    ];
    const found = [];
    for (const source of sources) found.push((await Engine.plan(source, { cache: false })).weightBytes);
    return found;
  });
  assert.deepEqual(sizes, new Array(5).fill(sizes[0]));
});
