// A web server with faults: each path has its bytes and its switches. Requests are written down.
import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/**
 * @typedef {object} Switches
 * @property {boolean} [noLength] chunked, without Content-Length
 * @property {'gzip' | 'br'} [encoding] compressed, with the compressed length
 * @property {boolean} [noRanges] a range is answered with 200 and everything
 * @property {number} [shift] a range is answered with another one, that many bytes off
 * @property {{ status: number, retryAfter?: string, body?: string }[]} [failures] the first answers
 * @property {number[]} [cuts] after how many bytes of the body the first answers lose the connection
 * @property {string} [redirect] where the path leads to
 * @property {string} [etag]
 * @property {boolean} [anonymous] no ETag, no Last-Modified
 * @property {Record<string, string>} [headers]
 * @property {number} [dripMs] pause between pieces of 1000 bytes
 * @property {number} [cap] no answer to a range has more bytes
 * @property {boolean} [hideRange] no Content-Range, as a browser sees an answer whose headers are not exposed
 * @property {boolean} [wholeAsRange] a range is answered with 206 and the whole file
 * @property {boolean} [refuseRange] the connection of a request with a range is dropped
 * @property {boolean} [refuseFurther] a range that does not begin at 0 is answered with 416
 * @property {string} [modified] Last-Modified
 * @property {boolean} [hang] no answer at all
 */

export async function startStub() {
  /** @type {Map<string, { bytes: Buffer } & Switches>} */
  const files = new Map();
  /**
   * whole: of the answer, when its connection is done with it: whether all of it was sent.
   * @type {{ path: string, range: string | undefined, headers: http.IncomingHttpHeaders, whole: Promise<boolean> }[]}
   */
  const asked = [];
  const arrivals = new EventEmitter();

  const server = http.createServer(async (request, response) => {
    const { pathname } = new URL(`http://stub${request.url}`);
    const range = request.headers.range;
    const whole = new Promise((resolve) => response.on('close', () => resolve(response.writableFinished)));
    asked.push({ path: pathname, range, headers: request.headers, whole });
    arrivals.emit(pathname);
    const file = files.get(decodeURIComponent(pathname));
    if (!file) return response.writeHead(404, { 'Content-Type': 'text/html' }).end('<html>no</html>');
    if (file.hang) return undefined;
    if (file.refuseRange && range) return request.socket.destroy();
    if (file.redirect) return response.writeHead(302, { Location: file.redirect }).end();
    const failure = file.failures?.shift();
    if (failure) {
      const retry = failure.retryAfter === undefined ? {} : { 'Retry-After': failure.retryAfter };
      return response
        .writeHead(failure.status, { 'Content-Type': 'text/html', ...retry })
        .end(failure.body ?? '<html>');
    }
    return send(file, range, response);
  });

  /**
   * @param {{ bytes: Buffer } & Switches} file
   * @param {string | undefined} range
   * @param {http.ServerResponse} response
   */
  async function send(file, range, response) {
    const wanted = /^bytes=(\d+)-(\d*)$/.exec(range ?? '');
    const partial = wanted && !file.noRanges && !file.encoding;
    const total = file.bytes.length;
    /** @type {Record<string, string>} */
    const headers = { 'Content-Type': 'application/octet-stream', ...file.headers };
    if (!file.anonymous) headers.ETag = file.etag ?? `"${total}"`;
    if (file.modified) headers['Last-Modified'] = file.modified;
    let body = file.bytes;
    if (partial) {
      const start = Number(wanted[1]) + (file.shift ?? 0);
      const end = Math.min(wanted[2] ? Number(wanted[2]) : total - 1, total - 1, start + (file.cap ?? total) - 1);
      if (start >= total || (start > 0 && file.refuseFurther))
        return response.writeHead(416, { 'Content-Range': `bytes */${total}` }).end();
      if (!file.wholeAsRange) body = body.subarray(start, end + 1);
      if (!file.hideRange) headers['Content-Range'] = `bytes ${start}-${end}/${total}`;
    }
    if (file.encoding) {
      body = file.encoding === 'br' ? brotliCompressSync(body) : gzipSync(body);
      headers['Content-Encoding'] = file.encoding;
    }
    if (!file.noLength) headers['Content-Length'] = String(body.length);
    response.writeHead(partial ? 206 : 200, headers);
    const cut = file.cuts?.shift();
    if (cut !== undefined) {
      response.write(body.subarray(0, cut), () => setTimeout(() => response.destroy(), 20));
    } else if (file.dripMs) {
      for (let at = 0; at < body.length && !response.destroyed; at += 1000) {
        response.write(body.subarray(at, at + 1000));
        await new Promise((resolve) => setTimeout(resolve, file.dripMs));
      }
      response.end();
    } else {
      response.end(body);
    }
    return response;
  }

  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}/`,
    asked,
    /**
     * Resolves when the path is asked for the next time.
     * @param {string} path
     */
    nextRequest: (path) => once(arrivals, path),
    /**
     * @param {string} path
     * @param {Uint8Array | string} bytes
     * @param {Switches} [switches]
     */
    serve(path, bytes, switches = {}) {
      files.set(path, { bytes: Buffer.from(bytes), ...switches });
      return `http://127.0.0.1:${port}${path}`;
    },
    /** @param {string} path */
    remove: (path) => files.delete(path),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * Bytes that look like nothing in particular and differ everywhere.
 * @param {number} length
 */
export const someBytes = (length) => Buffer.from(Array.from({ length }, (_, i) => (i * 7 + (i >> 8) * 13) % 251));
