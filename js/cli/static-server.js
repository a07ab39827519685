/**
 * A static file server for pages that use this package: it sends on every response the headers that give a page threads
 * (COOP, COEP) and, unless told otherwise, the strict content policy that the package promises to work under. Ranges,
 * HEAD and revalidation are answered, because the weights are read in ranges. Used by the command line's `serve`,
 * `npm start` and the browser tests.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import http from 'node:http';
import { isIP } from 'node:net';
import os from 'node:os';
import path from 'node:path';

export const ISOLATION_HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/**
 * The strictest policy that the package works under.
 * @param {string} [connect] What else a page may fetch from, as `https:` for weights of any host.
 */
export function strictPolicy(connect) {
  return (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; " +
    `connect-src 'self'${connect ? ` ${connect}` : ''}; img-src 'self'; base-uri 'none'; form-action 'none'`
  );
}

/** @type {Record<string, string>} */
const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jinja': 'text/plain; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.ts': 'text/plain; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
};

/**
 * @typedef {object} ServerOptions
 * @property {string | string[]} folders Looked through in this order: the first one that has the file serves it.
 * @property {number} [port] 0 (the default) takes a free one.
 * @property {string} [host] Default 127.0.0.1: this machine only.
 * @property {boolean} [isolation] COOP and COEP on every response; default true.
 * @property {string | null} [policy] Content-Security-Policy of every response; default the strict one, null for none.
 * @property {(request: http.IncomingMessage, response: http.ServerResponse) => boolean} [intercept]
 *   Sees each request first; true: it has answered.
 */

/**
 * @param {ServerOptions} options
 * @returns {Promise<{ url: string, port: number, close(): Promise<void> }>} url ends in `/`.
 */
export async function startServer({ folders, port = 0, host = '127.0.0.1', isolation = true, policy, intercept }) {
  const roots = [folders].flat().map((folder) => path.resolve(folder));
  const headers = { ...(isolation ? ISOLATION_HEADERS : {}), 'Cache-Control': 'no-cache' };
  const csp = policy === undefined ? strictPolicy() : policy;
  if (csp) Object.assign(headers, { 'Content-Security-Policy': csp });

  const server = http.createServer((request, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (!isOwnName(request.headers.host, host)) return refuse(response, 403, FOREIGN_NAME);
    if (intercept?.(request, response)) return;
    answer(roots, request, response).catch((error) => refuse(response, 500, error.message));
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(undefined));
  });
  const { port: actual } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const name = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${name === '127.0.0.1' ? 'localhost' : name}:${actual}/`,
    port: actual,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const FOREIGN_NAME = 'this server answers by address, as localhost, and by the name that --host gives';

/**
 * Whether a request's Host is one of ours. A page of another site can make its own name point here (DNS rebinding), and would
 * then read the folder; an address it cannot.
 * @param {string | undefined} header
 * @param {string} host that was asked for
 */
function isOwnName(header, host) {
  const name = (header ?? '')
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
  if (isIP(name) || name === 'localhost' || name.endsWith('.localhost')) return true;
  return name === host.toLowerCase() || name === os.hostname().toLowerCase();
}

/**
 * @param {string[]} roots
 * @param {http.IncomingMessage} request
 * @param {http.ServerResponse} response
 */
async function answer(roots, request, response) {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    return refuse(response, 405, 'only GET and HEAD');
  }
  const { pathname, search } = new URL(`http://server${request.url}`);
  const name = localName(pathname);
  const found = name === null ? null : await find(roots, name);
  if (!found) return refuse(response, 404, `nothing here: ${pathname}`);
  if (found.folder) {
    const folder = `${path.posix.basename(pathname)}/`;
    response.setHeader('Location', `${folder}${search}`);
    return refuse(response, 301, folder);
  }
  send(found, request, response);
}

/**
 * The path below a root that a URL's path means; null where there can be none: malformed escapes, NUL, a way up and
 * hidden files (.git, .env).
 * @param {string} pathname
 */
function localName(pathname) {
  let name;
  try {
    name = decodeURIComponent(pathname);
  } catch {
    return null;
  }
  const parts = name.split('/').filter(Boolean);
  if (name.includes('\0') || name.includes('\\') || parts.some((part) => part.startsWith('.'))) return null;
  if (name.endsWith('/')) parts.push('index.html');
  return parts.join('/');
}

/**
 * @param {string[]} roots
 * @param {string} name
 * @returns {Promise<{ file: string, size: number, modified: Date, folder: boolean } | null>}
 */
async function find(roots, name) {
  for (const root of roots) {
    const file = path.join(root, name);
    const info = await stat(file).catch(() => null);
    if (info?.isFile()) return { file, size: info.size, modified: info.mtime, folder: false };
    if (info?.isDirectory()) return { file, size: 0, modified: info.mtime, folder: true };
  }
  return null;
}

/**
 * @param {{ file: string, size: number, modified: Date }} found
 * @param {http.IncomingMessage} request
 * @param {http.ServerResponse} response
 */
function send({ file, size, modified }, request, response) {
  const etag = `"${size.toString(36)}-${Math.trunc(modified.getTime()).toString(36)}"`;
  response.setHeader('Content-Type', TYPES[path.extname(file).toLowerCase()] ?? 'application/octet-stream');
  response.setHeader('ETag', etag);
  response.setHeader('Last-Modified', modified.toUTCString());
  response.setHeader('Accept-Ranges', 'bytes');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  if (request.headers['if-none-match'] === etag) return void response.writeHead(304).end();

  const unchanged = !request.headers['if-range'] || request.headers['if-range'] === etag;
  const range = unchanged ? readRange(request.headers.range, size) : null;
  if (range === 'outside') {
    response.setHeader('Content-Range', `bytes */${size}`);
    return refuse(response, 416, `the file has ${size} bytes`);
  }
  const { start, end } = range ?? { start: 0, end: size - 1 };
  if (range) response.setHeader('Content-Range', `bytes ${start}-${end}/${size}`);
  response.setHeader('Content-Length', end - start + 1);
  response.writeHead(range ? 206 : 200);
  if (request.method === 'HEAD' || end < start) return void response.end();
  const stream = createReadStream(file, { start, end, highWaterMark: 1 << 18 });
  stream.on('error', () => response.destroy());
  response.on('close', () => stream.destroy());
  stream.pipe(response);
}

/**
 * One range of bytes, ends included. Several ranges, and what is not a range of bytes, are answered with the whole file.
 * @param {string | undefined} header
 * @param {number} size
 * @returns {{ start: number, end: number } | 'outside' | null}
 */
function readRange(header, size) {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (!match || (!match[1] && !match[2])) return null;
  if (!match[1]) {
    const last = Math.min(Number(match[2]), size);
    return last > 0 ? { start: size - last, end: size - 1 } : 'outside';
  }
  const start = Number(match[1]);
  const end = match[2] ? Math.min(Number(match[2]), size - 1) : size - 1;
  if (match[2] && Number(match[2]) < start) return null;
  return start < size ? { start, end } : 'outside';
}

/**
 * @param {http.ServerResponse} response
 * @param {number} status
 * @param {string} reason
 */
function refuse(response, status, reason) {
  if (response.headersSent) return void response.destroy();
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.writeHead(status);
  response.end(`${status} ${reason}\n`);
}
