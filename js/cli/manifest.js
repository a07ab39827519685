/** `manifest`: writes the manifest of a model's files, and on request the parts that hosts with a limit on files want. */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { out } from './output.js';
import { parseOptions, UsageError } from './options.js';
import { MANIFEST_FORMAT, MANIFEST_VERSION } from '../weights/manifest.js';

export const summary = 'write the manifest of model files, with parts on request';

export const help = `Usage: qwen2-wasm manifest FILE... [options]

Writes manifest.json beside the first file: names, sizes, and SHA-256 of each file and of its chunks.

  --split SIZE             also write each file in parts of at most SIZE, as 90MB (GitHub takes 100 MB a file)
  --url URL                where the files (or their parts) will be, relative to the manifest; default: beside it
  --name TEXT              the model's name, for people
  --output FILE            default: manifest.json beside the first file
`;

const CHUNK_BYTES = 4 << 20;
/** @type {Record<string, number>} */
const UNITS = { '': 1, KB: 1e3, MB: 1e6, GB: 1e9, KIB: 2 ** 10, MIB: 2 ** 20, GIB: 2 ** 30 };

/** @param {string} text */
function bytesOf(text) {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text) ?? [];
  const bytes = Math.floor(Number(number) * (UNITS[(unit ?? '?').toUpperCase()] ?? NaN));
  if (!(bytes >= 1)) throw new UsageError(`--split wants a size as 90MB, got "${text}"`);
  return bytes;
}

/** @param {string} file */
function* chunksOf(file) {
  const open = openSync(file, 'r');
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      let n = 0;
      for (let got = -1; n < chunk.length && got !== 0; n += got)
        got = readSync(open, chunk, n, chunk.length - n, null);
      if (n === 0) return;
      yield chunk.subarray(0, n);
    }
  } finally {
    closeSync(open);
  }
}

/** @param {Uint8Array} bytes */
const sumOf = (bytes) => createHash('sha256').update(bytes).digest('hex');

/**
 * Writes the parts of a file; their names and sizes.
 * @param {string} file
 * @param {number} limit
 * @param {string} folder
 */
function split(file, limit, folder) {
  /** @type {{ name: string, bytes: number }[]} */
  const parts = [];
  /** @type {number | null} */
  let part = null;
  for (const chunk of chunksOf(file)) {
    for (let at = 0; at < chunk.length;) {
      const last = parts.at(-1);
      if (part === null || !last || last.bytes === limit) {
        if (part !== null) closeSync(part);
        const name = `${path.basename(file)}.part${String(parts.length).padStart(3, '0')}`;
        part = openSync(path.join(folder, name), 'w');
        parts.push({ name, bytes: 0 });
        continue;
      }
      const bytes = chunk.subarray(at, at + limit - last.bytes);
      writeFileSync(part, bytes);
      last.bytes += bytes.length;
      at += bytes.length;
    }
  }
  if (part !== null) closeSync(part);
  return parts;
}

/**
 * @param {string} file
 * @param {{ limit: number | null, url: string, folder: string }} options
 */
function describe(file, { limit, url, folder }) {
  const whole = createHash('sha256');
  const sums = [];
  for (const chunk of chunksOf(file)) {
    whole.update(chunk);
    sums.push(sumOf(chunk));
  }
  const at = (/** @type {string} */ name) => url + encodeURIComponent(name);
  const { size } = statSync(file);
  const parts = limit !== null && size > limit ? split(file, limit, folder) : null;
  const source = parts
    ? { parts: parts.map(({ name, bytes }) => ({ bytes, urls: [at(name)] })) }
    : at(path.basename(file));
  const chunks = { bytes: CHUNK_BYTES, sha256: sums };
  return { name: path.basename(file), bytes: size, sha256: whole.digest('hex'), chunks, sources: [source] };
}

/** @param {string[]} args */
export async function run(args) {
  const { values, words } = parseOptions(args, { split: 'text', url: 'text', name: 'text', output: 'text' }, Infinity);
  if (words.length === 0) throw new UsageError('which file? qwen2-wasm manifest FILE');
  const output = values.output ?? path.join(path.dirname(words[0]), 'manifest.json');
  const url = values.url === undefined || values.url.endsWith('/') ? (values.url ?? '') : `${values.url}/`;
  const limit = values.split === undefined ? null : bytesOf(values.split);
  const files = words.map((file) => describe(file, { limit, url, folder: path.dirname(output) }));
  const manifest = { format: MANIFEST_FORMAT, version: MANIFEST_VERSION, name: values.name, files };
  writeFileSync(output, `${JSON.stringify(manifest, null, 1)}\n`);
  out(`${output}\n`);
  return 0;
}
