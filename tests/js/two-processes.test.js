// Downloads of processes that are killed, and of two at once: whatever happens, the copy is whole in the end.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const TINY = readFileSync(new URL('../../models/austen-tiny-q8_0.gguf', import.meta.url));
const ROUNDS = process.env.QW_LONG ? 20 : 4;
/** With the server's pace a download takes about this long. */
const DOWNLOAD_MS = 1200;
const PIECE = 1 << 16;

let server;
let url = '';
const model = TINY;
let sent = 0;
before(async () => {
  server = http.createServer(async (request, response) => {
    const [, start, end] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? ['', '0', ''];
    const last = Math.min(end ? Number(end) : Infinity, model.length - 1);
    const head = { 'Content-Range': `bytes ${start}-${last}/${model.length}`, ETag: '"1"' };
    response.writeHead(206, { ...head, 'Content-Length': last + 1 - Number(start) });
    for (let at = Number(start); at <= last && !response.destroyed; at += PIECE) {
      const piece = model.subarray(at, Math.min(at + PIECE, last + 1));
      response.write(piece);
      sent += piece.length;
      await new Promise((resolve) => setTimeout(resolve, (DOWNLOAD_MS * PIECE) / model.length));
    }
    response.end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/tiny.gguf`;
});
after(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const newFolder = (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'qw-two-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

/** A process that loads the model and says something. */
function start(folder) {
  const settings = ['--prompt', 'It is', '--max_new_tokens', '4', '--do_sample', 'false', '--threads', '1'];
  const child = spawn(process.execPath, [CLI, 'generate', '--model', url, '--cache', folder, ...settings]);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text) => (stdout += text));
  child.stderr.on('data', (text) => (stderr += text));
  return { child, done: new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr }))) };
}

function expectWhole(folder) {
  const names = readdirSync(folder);
  const copies = names.filter((name) => name.endsWith('.bin'));
  assert.equal(copies.length, 1, String(names));
  assert.ok(readFileSync(path.join(folder, copies[0])).equals(model), 'every byte of the copy is right');
  assert.ok(names.includes(copies[0].replace('.bin', '.done')));
}

test('killed at random points of a download, the next process completes it, and fetches only what is missing', async (t) => {
  for (let round = 0; round < ROUNDS; round++) {
    const folder = newFolder(t);
    const first = start(folder);
    sent = 0;
    const least = Math.random() * model.length;
    while (sent < least) await new Promise((resolve) => setTimeout(resolve, 5));
    first.child.kill('SIGKILL');
    await first.done;
    const before = sent;
    const { code, stdout, stderr } = await start(folder).done;
    assert.deepEqual([code, stderr], [0, ''], stderr);
    assert.ok(stdout.length > 1);
    expectWhole(folder);
    // Three chunks of 2 MB may be on their way, and what a connection holds.
    const kept = Math.max(0, before - 3 * (2 << 20));
    assert.ok(sent - before <= model.length - kept + 2048, `${sent - before} bytes after ${before}`);
  }
});

test('two processes on a cold cache do one download; where one is killed the other one goes on', async (t) => {
  for (let round = 0; round < ROUNDS; round++) {
    const folder = newFolder(t);
    sent = 0;
    const first = start(folder);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * DOWNLOAD_MS));
    const second = start(folder);
    if (round % 2 === 1) {
      while (sent < model.length / 3) await new Promise((resolve) => setTimeout(resolve, 5));
      first.child.kill('SIGKILL');
    }
    const [one, two] = await Promise.all([first.done, second.done]);
    assert.deepEqual([two.code, two.stderr], [0, ''], two.stderr);
    if (round % 2 === 0) {
      assert.deepEqual([one.code, one.stdout], [0, two.stdout]);
      assert.ok(sent <= model.length + 10, `${sent} bytes were sent for one download of ${model.length}`);
    }
    expectWhole(folder);
  }
});
