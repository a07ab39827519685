// One request for a file: with a range, or plain where a request with a range fails; and what a fetch that failed is told as,
// because its own words ("Failed to fetch") are the same for a wrong address, CORS, a content policy and no network.
import { messageOf, qwenError, throwIfAborted } from '../errors.js';
import { answerOf, orSilence } from './http-answer.js';

/**
 * @typedef {object} RequestOptions
 * @property {AbortSignal} signal
 * @property {Record<string, string>} [headers]
 * @property {'follow' | 'error'} [redirect] 'error' where the browser would send the headers along to another origin
 */

/** Origins (or schemes) that the page's content policy refused, as its events tell. */
const refused = new Set();
let listening = false;

function listenForRefusals() {
  if (listening) return;
  listening = true;
  globalThis.addEventListener?.('securitypolicyviolation', (event) => {
    const { blockedURI, effectiveDirective } = /** @type {SecurityPolicyViolationEvent} */ (event);
    if (effectiveDirective.startsWith('connect')) refused.add(originOf(blockedURI));
  });
}

/** @param {string} url */
const originOf = (url) => (URL.canParse(url) ? new URL(url).origin : url);

/** A request that can be dropped. */
export class HttpRequest {
  /** Whether the answer is one to a request without the range that was asked for. */
  plain = false;
  #control = new AbortController();
  #url;
  #options;

  /**
   * @param {string} url
   * @param {RequestOptions} options
   */
  constructor(url, options) {
    this.#url = url;
    this.#options = options;
    const { signal } = options;
    const abort = () => this.drop();
    signal.addEventListener('abort', abort, { once: true });
    this.#control.signal.addEventListener('abort', () => signal.removeEventListener('abort', abort), { once: true });
  }

  /** Ends the request and its answer. */
  drop() {
    this.#control.abort();
  }

  /**
   * @param {string} [range] as 'bytes=0-'
   */
  async send(range) {
    throwIfAborted(this.#options.signal);
    listenForRefusals();
    const headers = { ...this.#options.headers, ...(range ? { Range: range } : {}) };
    const { redirect } = this.#options;
    const asked = fetch(this.#url, { headers, redirect, signal: this.#control.signal, cache: 'no-store' });
    return answerOf(await orSilence(asked, () => this.drop()));
  }

  /**
   * As send; where a request with a range fails as a whole, one without: a preflight may refuse the header, and Chromium fails an
   * object that is stored compressed when a range of it was asked for.
   * @param {string} range
   */
  async sendRange(range) {
    try {
      return await this.send(range);
    } catch (error) {
      if (!(error instanceof TypeError) || globalThis.navigator?.onLine === false) throw error;
      const answer = await this.send().catch(() => Promise.reject(error));
      this.plain = true;
      return answer;
    }
  }
}

/**
 * What a failed fetch is told as. A QwenError is sure, and not tried again.
 * @param {string} url
 * @param {unknown} error
 * @param {RequestOptions} options
 * @returns {Promise<unknown>}
 */
export async function explained(url, error, { signal, redirect }) {
  if (!(error instanceof TypeError)) return error;
  const { cause } = /** @type {{ cause?: unknown }} */ (error);
  if (cause instanceof Error) return new Error(messageOf(cause), { cause: error }); // Node tells why
  if (globalThis.navigator?.onLine === false) return new Error('this device is offline', { cause: error });
  const { origin } = new URL(url);
  const own = globalThis.location?.origin;
  await new Promise((resolve) => setTimeout(resolve)); // the policy's event comes after the failure
  if (refused.has(origin) || refused.has(url)) {
    const way = `add ${origin} to connect-src, in the headers of the page and of worker.js`;
    return qwenError('network', `${url}: the Content Security Policy forbids the request: ${way}`, error);
  }
  if (redirect === 'error') {
    const why = 'this browser would send the token along a redirect to another host, so none is followed';
    return new Error(`${messageOf(error)} (${why}: a newer browser, or an address without a redirect, works)`);
  }
  if (origin === own) return new Error(`${messageOf(error)} (the host cannot be reached)`, { cause: error });
  if (await answersWithoutCors(url, signal)) {
    const way = `${origin} has to send Access-Control-Allow-Origin for ${own}; or put the file on the page's own host`;
    return qwenError('network', `${url}: the host answers, but not for pages of other origins (CORS): ${way}`, error);
  }
  const causes =
    `it cannot be reached, the address is wrong, it does not allow other origins (Access-Control-Allow-Origin), ` +
    `or the page's policy does not name it (connect-src ${origin})`;
  return new Error(`${messageOf(error)} (the likely causes: ${causes})`, { cause: error });
}

/**
 * @param {string} url
 * @param {AbortSignal} signal
 */
async function answersWithoutCors(url, signal) {
  try {
    await fetch(url, { method: 'HEAD', mode: 'no-cors', cache: 'no-store', signal });
    return true;
  } catch {
    return false;
  }
}
