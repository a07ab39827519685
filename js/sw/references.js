// Which files a file of a site needs, as far as its text tells: what a page includes, what modules import or name beside
// themselves, what styles show. A name too many costs a request that finds nothing; models are never among them.

const JSDOC = /\/\*\*[\s\S]*?\*\//g; // types import too
const PATTERNS = {
  html: [
    /<(?:script|img|source)\b[^>]*?\bsrc\s*=\s*["']?([^"'\s>]+)/gi,
    /<link\b(?=[^>]*\brel\s*=\s*["']?[^"'>]*(?:stylesheet|icon|preload|manifest))[^>]*?\bhref\s*=\s*["']?([^"'\s>]+)/gi,
  ],
  javascript: [
    /\b(?:from|import|importScripts)\s*\(?\s*["'](\.{0,2}\/[^"']+)["']/g,
    /\bnew URL\(\s*["'`](\.{0,2}\/[^"'`]+)["'`]\s*,\s*import\.meta\.url/g,
  ],
  css: [/@import\s+["']([^"']+)["']/g, /\burl\(\s*["']?([^"')]+)/g],
};

const MODEL = /\.(?:gguf|safetensors|bin)$/;

/**
 * Whether a file of that address is kept with the page.
 * @param {string} url absolute
 */
export function isPart(url) {
  const { origin, pathname } = new URL(url);
  return origin === self.location.origin && !MODEL.test(pathname);
}

/**
 * Absolute addresses, without fragments, each once.
 * @param {string} text
 * @param {string} type its Content-Type
 * @param {string} base its address
 */
export function referencesOf(text, type, base) {
  const kind = /** @type {const} */ (['html', 'javascript', 'css']).find((one) => type.includes(one));
  if (!kind) return [];
  const bare = kind === 'javascript' ? text.replace(JSDOC, '') : text;
  const found = PATTERNS[kind].flatMap((pattern) => [...bare.matchAll(pattern)].map(([, name]) => name));
  const urls = found.filter((name) => URL.canParse(name, base)).map((name) => bareUrl(name, base));
  return [...new Set(urls)].filter(isPart);
}

/**
 * @param {string} name
 * @param {string} [base]
 */
export function bareUrl(name, base) {
  const url = new URL(name, base);
  url.hash = '';
  return url.href;
}
