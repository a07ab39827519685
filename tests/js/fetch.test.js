// Files over HTTP, against a server with faults.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { compareWithServer } from '../../js/weights/http-compare.js';
import { HttpFile } from '../../js/weights/http-file.js';
import { someBytes, startStub } from './support/stub-server.js';

const BYTES = someBytes(300_000);

/** @type {Awaited<ReturnType<typeof startStub>>} */
let stub;
before(async () => (stub = await startStub()));
after(() => stub.close());

const options = (more = {}) => ({ name: 'file', signal: new AbortController().signal, retryMs: 5, ...more });

/** The bytes of [from, to) as the loader reads them: in order, in pieces of any size. */
async function readAll(file, from = 0, to = file.size) {
  const all = Buffer.alloc(to - from);
  for (let at = from; at < to;) {
    const n = await file.fill(all.subarray(at - from, Math.min(at - from + 50_000, to - from)), at);
    assert.ok(n >= 1);
    at += n;
  }
  file.close();
  return all;
}

const code = (expected, text) => (error) => {
  assert.equal(error.code, expected, error.stack);
  assert.match(error.message, text);
  return true;
};

/** The whole file by one request, with its size known before the first byte. */
async function readsInOneRequest(url) {
  stub.asked.length = 0;
  const file = await HttpFile.open(url, options());
  assert.equal(file.size, BYTES.length);
  assert.deepEqual(await readAll(file), BYTES);
  assert.deepEqual(
    stub.asked.map((one) => one.range),
    ['bytes=0-'],
  );
}

test('a file is read with one request and its size is known before the first byte', () =>
  readsInOneRequest(stub.serve('/plain', BYTES)));

test('a far position is asked for as a range, a near one is read up to', async () => {
  const big = someBytes(3 << 20);
  const url = stub.serve('/far', big);
  stub.asked.length = 0;
  const file = await HttpFile.open(url, options());
  const view = new Uint8Array(10);
  assert.equal(await file.fill(view, 1000), 10);
  assert.deepEqual(Buffer.from(view), big.subarray(1000, 1010));
  await file.fill(view, 2_500_000);
  assert.deepEqual(Buffer.from(view), big.subarray(2_500_000, 2_500_010));
  file.close();
  assert.deepEqual(
    stub.asked.map((one) => one.range),
    ['bytes=0-', 'bytes=2500000-'],
  );
});

test('a server that answers a range with everything gives the same bytes', async () => {
  const url = stub.serve('/norange', BYTES, { noRanges: true });
  const file = await HttpFile.open(url, options());
  assert.equal(file.size, BYTES.length);
  assert.deepEqual(await readAll(file, 29), BYTES.subarray(29));
});

test('a server that answers with a wrong range gives the same bytes', async () => {
  const url = stub.serve('/shifted', BYTES, { shift: 3 });
  assert.deepEqual(await readAll(await HttpFile.open(url, options())), BYTES);
});

for (const encoding of /** @type {const} */ (['gzip', 'br'])) {
  test(`a body in ${encoding} has the size and the bytes of the file, not of the encoding`, async () => {
    const url = stub.serve(`/${encoding}`, BYTES, { encoding });
    const file = await HttpFile.open(url, options());
    assert.equal(file.size, BYTES.length);
    assert.deepEqual(await readAll(file), BYTES);
  });
}

test("an answer that says 'identity' is an answer like others, in ranges", () =>
  readsInOneRequest(stub.serve('/identity', BYTES, { headers: { 'Content-Encoding': 'identity' } })));

test('of a file of 2.5 GB only pieces are held at a time, and positions beyond 2^31 are right', async () => {
  const size = 2_500_000_000;
  const piece = Buffer.alloc(1 << 20, 7);
  let sent = 0;
  const server = http.createServer((request, response) => {
    const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1]);
    response.writeHead(206, { 'Content-Range': `bytes ${start}-${size - 1}/${size}`, 'Content-Length': size - start });
    const more = () => {
      do sent += piece.length;
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', more);
    more();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/big`;
  const file = await HttpFile.open(url, options());
  assert.equal(file.size, size);
  const view = new Uint8Array(1 << 20);
  const first = 2_400_000_000;
  let taken = 0;
  const take = async (/** @type {number} */ bytes) => {
    while (taken < bytes) {
      const n = await file.fill(view, first + taken);
      assert.ok(n >= 1 && view[0] === 7 && view[n - 1] === 7);
      taken += n;
    }
  };
  await take(2e7);
  // A reader that takes its time holds the server up.
  for (let before = -1; before !== sent; await new Promise((resolve) => setTimeout(resolve, 50))) before = sent;
  assert.ok(sent - taken < 3e7, `${sent} bytes were sent, ${taken} taken`);
  await take(size - first);
  file.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test('without a length the size is found by reading', async () => {
  const url = stub.serve('/nolength', BYTES, { noLength: true, noRanges: true });
  const file = await HttpFile.open(url, options());
  assert.equal(file.size, BYTES.length);
  assert.deepEqual(await readAll(file), BYTES);
});

test('an empty file has size 0', async () => {
  const url = stub.serve('/empty', '');
  assert.equal((await HttpFile.open(url, options())).size, 0);
});

test('503 twice and then an answer is an answer', async () => {
  const url = stub.serve('/busy', BYTES, { failures: [{ status: 503 }, { status: 503 }] });
  assert.deepEqual(await readAll(await HttpFile.open(url, options())), BYTES);
});

test('429 is waited out as long as the server says', async (t) => {
  const url = stub.serve('/slowdown', BYTES, { failures: [{ status: 429, retryAfter: '1' }] });
  const { setTimeout } = globalThis;
  const timers = t.mock.method(globalThis, 'setTimeout', (run, ms) => setTimeout(run, ms === 1000 ? 0 : ms));
  const file = await HttpFile.open(url, options());
  assert.ok(timers.mock.calls.some((call) => call.arguments[1] === 1000));
  assert.deepEqual(await readAll(file), BYTES);
});

test('attempts are bounded and the error names URL and status', async () => {
  const url = stub.serve('/down', BYTES, { failures: Array.from({ length: 20 }, () => ({ status: 500 })) });
  await assert.rejects(HttpFile.open(url, options()), code('network', /\/down: status 500, after 5 attempts/));
});

test('a connection lost at 40 % goes on where it stopped', async () => {
  const url = stub.serve('/cut', BYTES, { cuts: [120_000, 60_000] });
  stub.asked.length = 0;
  assert.deepEqual(await readAll(await HttpFile.open(url, options())), BYTES);
  assert.equal(stub.asked.length, 3);
  const starts = stub.asked.map((one) => Number(/\d+/.exec(one.range)[0]));
  assert.ok(starts[0] === 0 && starts[1] > 0 && starts[1] <= 120_000 && starts[2] > starts[1], String(starts));
});

test('a resumed answer of another file is an integrity error', async () => {
  const url = stub.serve('/swapped', BYTES, { cuts: [120_000] });
  const file = await HttpFile.open(url, options());
  stub.serve('/swapped', BYTES, { etag: '"other"' });
  await assert.rejects(readAll(file), code('integrity', /changed while it was read/));
});

test('403 for a resumed range is a network error with the status', async () => {
  const url = stub.serve('/expired', BYTES, { cuts: [1000] });
  const file = await HttpFile.open(url, options());
  stub.serve('/expired', BYTES, { failures: [{ status: 403 }] });
  await assert.rejects(readAll(file), code('network', /status 403/));
});

test('a redirect whose target expired is asked for anew at the original URL', async () => {
  const targets = ['/signed-1', '/signed-2'].map((path) => stub.serve(path, BYTES, { cuts: [120_000] }));
  const url = stub.serve('/signed', '', { redirect: targets[0] });
  const file = await HttpFile.open(url, options());
  stub.serve('/signed-1', '', { failures: Array.from({ length: 9 }, () => ({ status: 403 })) });
  stub.serve('/signed', '', { redirect: targets[1] });
  assert.deepEqual(await readAll(file), BYTES);
});

test('HTML with status 200 is an error that names the URL, or an absent optional file with a note', async () => {
  const url = stub.serve('/html', '\n<!DOCTYPE html><title>app</title>');
  await assert.rejects(HttpFile.open(url, options()), code('network', /\/html: got HTML/));
  const notes = [];
  const file = await HttpFile.open(url, options({ optional: true, note: (note) => notes.push(note) }));
  assert.equal(file, null);
  assert.match(notes[0], /got HTML/);
});

test('a Git LFS pointer is called one', async () => {
  const url = stub.serve('/lfs', `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 9\n`);
  await assert.rejects(HttpFile.open(url, options()), code('format', /\/lfs: got a Git LFS pointer, not the file/));
});

test('404 is absent where the file is optional and an error where it is not', async () => {
  assert.equal(await HttpFile.open(`${stub.url}none`, options({ optional: true })), null);
  await assert.rejects(HttpFile.open(`${stub.url}none`, options()), code('network', /none: status 404/));
});

test('for headers only, ranges of growing size are asked for', async () => {
  const url = stub.serve('/window', BYTES);
  stub.asked.length = 0;
  const file = await HttpFile.open(url, options({ window: 10_000 }));
  assert.equal(file.size, BYTES.length);
  assert.deepEqual(await readAll(file, 0, 50_000), BYTES.subarray(0, 50_000));
  assert.deepEqual(
    stub.asked.map((one) => one.range),
    ['bytes=0-9999', 'bytes=10000-29999', 'bytes=30000-69999'],
  );
});

test('an aborted read rejects at once, and no connection stays', async () => {
  const control = new AbortController();
  const url = stub.serve('/drip', BYTES, { dripMs: 50 });
  const file = await HttpFile.open(url, options({ signal: control.signal }));
  const had = await file.fill(new Uint8Array(1000), 0);
  const reading = assert.rejects(readAll(file, had), code('aborted', /aborted/));
  control.abort();
  await reading;
  assert.equal(await stub.asked.at(-1).whole, false);
});

test('a token goes to its own origin and not along a redirect to another', async () => {
  const other = await startStub();
  try {
    const target = other.serve('/target', BYTES);
    const url = stub.serve('/redirect', '', { redirect: target });
    stub.asked.length = 0;
    const file = await HttpFile.open(url, options({ headers: { Authorization: 'Bearer secret' } }));
    assert.deepEqual(await readAll(file), BYTES);
    assert.equal(stub.asked[0].headers.authorization, 'Bearer secret');
    assert.equal(other.asked[0].headers.authorization, undefined);
  } finally {
    await other.close();
  }
});

test('a kept file is the same, changed, or unknown, or nobody answers', async () => {
  const url = stub.serve('/kept', BYTES, { etag: '"a"' });
  const known = { etag: '"a"', modified: '', bytes: BYTES.length };
  const compare = (more = {}, ms = 2000) =>
    compareWithServer(url, { ...known, ...more }, { signal: new AbortController().signal, ms });
  assert.equal(await compare(), 'same');
  assert.equal(await compare({ etag: '"b"' }), 'changed');
  assert.equal(await compare({ bytes: 1 }), 'changed');
  stub.serve('/kept', '<html>', { headers: { 'Content-Type': 'text/html' }, noRanges: true });
  assert.equal(await compare(), 'unknown');
  for (const status of [429, 500, 503]) {
    stub.serve('/kept', BYTES, { failures: [{ status }] });
    assert.equal(await compare(), 'unreachable');
  }
  stub.serve('/kept', BYTES, { hang: true });
  assert.equal(await compare({}, 200), 'unreachable'); // the server never answers: only the limit can end it
});

test('where Content-Range is hidden the total is that of an open range, in a plan and in a load that goes on', async () => {
  const url = stub.serve('/hidden', BYTES, { hideRange: true });
  for (const more of [{ window: 10_000 }, { probe: true }, {}]) {
    const file = await HttpFile.open(url, options(more));
    assert.equal(file.size, BYTES.length);
    assert.deepEqual(await readAll(file, 200_000), BYTES.subarray(200_000));
  }
});

test('a 206 that is not the rest of the file is not taken for it', async () => {
  for (const switches of [{ wholeAsRange: true }, { wholeAsRange: true, hideRange: true }]) {
    const url = stub.serve('/whole', BYTES, switches);
    const file = await HttpFile.open(url, options({ probe: true }));
    assert.deepEqual(await readAll(file, 200_000), BYTES.subarray(200_000), JSON.stringify(switches));
  }
});

test('a server that caps its ranges is asked for the next piece at once', async () => {
  const url = stub.serve('/capped', BYTES, { cap: 20_000 });
  stub.asked.length = 0;
  const file = await HttpFile.open(url, options({ retryMs: 60_000 }));
  assert.deepEqual(await readAll(file), BYTES);
  assert.equal(stub.asked.length, 15);
});

test('416 for a byte that the file has, and another Last-Modified, say that it is another file', async () => {
  const dated = (day) => ({ anonymous: true, modified: `Mon, 0${day} Jan 2024 00:00:00 GMT` });
  for (const [before, after] of [
    [{}, { refuseFurther: true }],
    [dated(1), dated(2)],
  ]) {
    const url = stub.serve('/other', BYTES, { ...before, cuts: [120_000] });
    const file = await HttpFile.open(url, options());
    stub.serve('/other', BYTES, after);
    await assert.rejects(readAll(file), code('integrity', /changed while it was read/));
  }
});

test('a body without a length is fetched once, and told of as it comes', async () => {
  const large = Buffer.alloc(70 << 20, 7);
  const url = stub.serve('/endless', large, { noLength: true, noRanges: true });
  stub.asked.length = 0;
  const told = [];
  const file = await HttpFile.open(url, options({ measuring: (bytes) => told.push(bytes) }));
  assert.ok((await readAll(file)).equals(large));
  assert.equal(stub.asked.length, 1);
  assert.ok(told.length > 10 && told.at(-1) === large.length);
});

test('where a request with a range fails, a plain one brings the file', async () => {
  const url = stub.serve('/refusing', BYTES, { refuseRange: true });
  assert.deepEqual(await readAll(await HttpFile.open(url, options())), BYTES);
});

test('a download that has begun outlasts many failures; one that has not gives up after a few', async () => {
  // The pauses double: with twelve of them they come to some 50 ms.
  const failures = Array.from({ length: 12 }, () => ({ status: 503 }));
  const url = stub.serve('/outage', BYTES, { cuts: [100_000] });
  const file = await HttpFile.open(url, options({ retryMs: 1 / 64 }));
  stub.serve('/outage', BYTES, { failures: [...failures] });
  assert.deepEqual(await readAll(file), BYTES);
  stub.serve('/outage', BYTES, { failures: [...failures] });
  await assert.rejects(HttpFile.open(url, options({ retryMs: 1 / 64 })), code('network', /after 5 attempts/));
});

test('a failure in Node says why', async () => {
  const server = http.createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {any} */ (server.address());
  await new Promise((resolve) => server.close(resolve));
  await assert.rejects(HttpFile.open(`http://127.0.0.1:${port}/x`, options()), code('network', /ECONNREFUSED/));
});

test('what is closed asks for nothing more', async (t) => {
  const url = stub.serve('/closing', BYTES, { cuts: [50_000] });
  const retryMs = 100;
  const file = await HttpFile.open(url, options({ retryMs }));
  const again = stub.nextRequest('/closing');
  stub.serve('/closing', BYTES, { hang: true });
  const reading = assert.rejects(readAll(file), code('closed', /closed/));
  await again;
  const timers = t.mock.method(globalThis, 'setTimeout');
  file.close();
  await reading;
  assert.equal(await stub.asked.at(-1).whole, false);
  const asked = stub.asked.length;
  await (await fetch(`${stub.url}none`)).text(); // behind which a request made at once would have come
  assert.equal(stub.asked.length, asked + 1);
  const pauses = timers.mock.calls.filter((call) => Number(call.arguments[1]) <= retryMs);
  assert.equal(pauses.length, 0, 'nothing is waited for before another attempt');
});
