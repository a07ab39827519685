// The filter tojson as Transformers gives it to templates: Python's json.dumps, nothing escaped for HTML.
import { Dict, bind, fail, floatText, isInt, isText, repr, str, truthy, typeName } from './values.js';

/** @typedef {import('./values.js').Value} Value */
/** @typedef {{ ascii: boolean, indent: string | null, between: string, colon: string, sorted: boolean }} Style */

/**
 * @param {string} text
 * @param {boolean} ascii whether all else is escaped
 */
function jsonText(text, ascii) {
  const plain = text.replace(/["\\]|\p{Cc}/gu, (char) => (char < '\x7f' ? JSON.stringify(char).slice(1, -1) : char));
  if (!ascii) return `"${plain}"`;
  const unit = (/** @type {string} */ char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return `"${plain.replace(/[^\0-\x7f]/g, unit)}"`;
}

/** @param {number} value */
function jsonFloat(value) {
  if (Number.isNaN(value)) return 'NaN';
  return Number.isFinite(value) ? floatText(value) : value < 0 ? '-Infinity' : 'Infinity';
}

/** @param {Value} value */
function scalar(value) {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint') return String(value);
  return typeof value === 'number' ? jsonFloat(value) : null;
}

/** @param {Value} key */
const keyText = (key) => (isText(key) ? str(key) : (scalar(key) ?? fail(`a ${typeName(key)} as a key of JSON`)));

/**
 * @param {Value} value
 * @param {Style} style
 * @param {string} inset of the line
 * @returns {string}
 */
function write(value, style, inset) {
  if (isText(value)) return jsonText(str(value), style.ascii);
  const dict = value instanceof Dict;
  if (!dict && !Array.isArray(value)) return scalar(value) ?? fail(`a ${typeName(value)} cannot be written as JSON`);
  const deeper = inset + (style.indent ?? '');
  /** @type {string[]} */
  let parts;
  if (dict) {
    const items = value.items();
    if (style.sorted) items.sort(([a], [b]) => (keyText(a) < keyText(b) ? -1 : 1));
    parts = items.map(([key, one]) => jsonText(keyText(key), style.ascii) + style.colon + write(one, style, deeper));
  } else parts = Array.from(value, (one) => write(one, style, deeper));
  const [open, close] = dict ? '{}' : '[]';
  if (parts.length === 0) return open + close;
  if (style.indent === null) return open + parts.join(style.between) + close;
  return `${open}\n${deeper}${parts.join(`${style.between}\n${deeper}`)}\n${inset}${close}`;
}

const OPTIONS = { ensure_ascii: false, indent: null, separators: null, sort_keys: false };

/**
 * @param {Value} value
 * @param {Value[]} args
 * @param {import('./values.js').Named} named
 */
export function toJson(value, args, named) {
  const { ensure_ascii, indent, separators, sort_keys } = bind('tojson', OPTIONS, args, named);
  const pair = separators ?? (indent === null ? [', ', ': '] : [',', ': ']);
  if (!Array.isArray(pair) || pair.length !== 2 || !pair.every(isText)) fail(`tojson's separators are ${repr(pair)}`);
  if (indent !== null && !isInt(indent) && !isText(indent)) fail(`tojson's indent is ${repr(indent)}`);
  const style = {
    ascii: truthy(ensure_ascii),
    indent: isInt(indent) ? ' '.repeat(Math.max(0, Number(indent))) : indent === null ? null : str(indent),
    between: str(pair[0]),
    colon: str(pair[1]),
    sorted: truthy(sort_keys),
  };
  return write(value, style, '');
}
