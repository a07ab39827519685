// The static server: headers on every response, ranges, and nothing outside its folders.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startServer, strictPolicy } from '../../js/cli/static-server.js';

const folder = mkdtempSync(path.join(os.tmpdir(), 'qw-serve-'));
/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;

before(async () => {
  mkdirSync(path.join(folder, 'site/sub a'), { recursive: true });
  writeFileSync(path.join(folder, 'secret.txt'), 'secret');
  writeFileSync(path.join(folder, 'site/.env'), 'secret');
  writeFileSync(path.join(folder, 'site/index.html'), '<p>front');
  writeFileSync(path.join(folder, 'site/sub a/index.html'), '<p>sub');
  writeFileSync(path.join(folder, 'site/engine.wasm'), 'wasm');
  writeFileSync(path.join(folder, 'site/empty.bin'), '');
  writeFileSync(path.join(folder, 'site/ten.gguf'), '0123456789');
  server = await startServer({ folders: path.join(folder, 'site') });
});
after(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

/** A request whose path reaches the server as it is written (fetch would tidy it). */
function raw(pathname, { method = 'GET', headers = {} } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request({ port: server.port, path: pathname, method, headers }, (response) => {
      let body = '';
      response.on('data', (chunk) => (body += chunk));
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
    });
    request.on('error', reject);
    request.end();
  });
}

test('every response carries the isolation headers and the policy, errors included', async () => {
  for (const [pathname, status] of /** @type {[string, number][]} */ ([
    ['/', 200],
    ['/engine.wasm', 200],
    ['/missing.js', 404],
    ['/sub%20a', 301],
  ])) {
    const got = await raw(pathname);
    assert.equal(got.status, status, pathname);
    assert.equal(got.headers['cross-origin-opener-policy'], 'same-origin', pathname);
    assert.equal(got.headers['cross-origin-embedder-policy'], 'require-corp', pathname);
    assert.equal(got.headers['content-security-policy'], strictPolicy(), pathname);
  }
});

test('files have their types, folders their index', async () => {
  assert.equal((await raw('/engine.wasm')).headers['content-type'], 'application/wasm');
  assert.equal((await raw('/')).headers['content-type'], 'text/html; charset=utf-8');
  assert.equal((await raw('/ten.gguf')).headers['content-type'], 'application/octet-stream');
  assert.equal((await raw('/sub%20a?x=1')).headers.location, 'sub%20a/?x=1');
  assert.equal((await raw('/sub%20a/')).body, '<p>sub');
});

test('ranges give exactly the bytes asked for', async () => {
  for (const [range, status, body, contentRange] of /** @type {[string, number, string, string][]} */ ([
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-2', 206, '89', 'bytes 8-9/10'],
    ['bytes=-20', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=9-99', 206, '9', 'bytes 9-9/10'],
    ['bytes=0-0', 206, '0', 'bytes 0-0/10'],
    ['bytes=5-2', 200, '0123456789', undefined],
    ['bytes=0-1,4-5', 200, '0123456789', undefined],
    ['bytes=x', 200, '0123456789', undefined],
  ])) {
    const got = await raw('/ten.gguf', { headers: { range } });
    assert.deepEqual([got.status, got.body, got.headers['content-range']], [status, body, contentRange], range);
    assert.equal(Number(got.headers['content-length']), body.length, range);
  }
  const outside = await raw('/ten.gguf', { headers: { range: 'bytes=10-' } });
  assert.deepEqual([outside.status, outside.headers['content-range']], [416, 'bytes */10']);
});

test('an empty file and HEAD have no body', async () => {
  const empty = await raw('/empty.bin');
  assert.deepEqual([empty.status, empty.body, empty.headers['content-length']], [200, '', '0']);
  const head = await raw('/ten.gguf', { method: 'HEAD' });
  assert.deepEqual([head.status, head.body, head.headers['content-length']], [200, '', '10']);
  assert.equal((await raw('/ten.gguf', { method: 'POST' })).status, 405);
});

test('an unchanged file is not sent again, a range of a changed one is the whole file', async () => {
  const { etag } = (await raw('/ten.gguf')).headers;
  assert.equal((await raw('/ten.gguf', { headers: { 'if-none-match': etag } })).status, 304);
  assert.equal((await raw('/ten.gguf', { headers: { range: 'bytes=1-2', 'if-range': etag } })).body, '12');
  assert.equal((await raw('/ten.gguf', { headers: { range: 'bytes=1-2', 'if-range': '"old"' } })).status, 200);
});

test('nothing outside the folder, nothing hidden, nothing malformed', async () => {
  for (const pathname of [
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/..%5csecret.txt',
    '/.env',
    '/a%00',
    '/%E0%A4',
  ]) {
    const got = await raw(pathname);
    assert.equal(got.status, 404, pathname);
    assert.ok(!got.body.includes('<p>'), pathname);
  }
});

test('without isolation and policy neither header is sent; the first folder wins', async () => {
  const plain = await startServer({
    folders: [path.join(folder, 'site/sub a'), path.join(folder, 'site')],
    isolation: false,
    policy: null,
  });
  const front = await fetch(plain.url);
  assert.equal(await front.text(), '<p>sub');
  assert.equal(front.headers.get('cross-origin-opener-policy'), null);
  assert.equal(front.headers.get('content-security-policy'), null);
  assert.equal(await (await fetch(`${plain.url}ten.gguf`)).text(), '0123456789');
  await plain.close();
});

test('a request by a name that is not ours is refused: a page of another site may have made that name point here', async () => {
  for (const host of [
    'evil.example',
    `evil.example:${server.port}`,
    'localhost.evil.example',
    '127.0.0.1.evil.example',
  ])
    assert.deepEqual([(await raw('/', { headers: { host } })).status, host], [403, host]);
  for (const host of [
    'localhost',
    `127.0.0.1:${server.port}`,
    '[::1]:80',
    '192.168.1.7',
    'app.localhost',
    os.hostname(),
  ])
    assert.deepEqual([(await raw('/', { headers: { host } })).status, host], [200, host]);
});
