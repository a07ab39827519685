// Marker text (as <|im_start|>) in what people or tools wrote is kept from becoming a marker: before rendering, the first
// character of each such text gives place to a character that occurs nowhere, so that lengths stay as they are; where that comes
// out of the template, the character is put back and no control token may start.
import { qwenError } from '../errors.js';

/**
 * A value with every text in it (keys too) changed.
 * @param {any} value
 * @param {(text: string) => string} change
 * @returns {any}
 */
export function mapTexts(value, change) {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== 'object' || value === null || value instanceof Number) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [change(key), mapTexts(item, change)]));
}

/**
 * As JSON writes a text where everything outside ASCII is escaped; a template may do so.
 * @param {string} text
 */
const escapedText = (text) =>
  Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');

/**
 * Text in which such escapes are the characters again.
 * @param {string} text
 * @param {string} mark
 */
export const unescapedMarks = (text, mark) => text.split(escapedText(mark)).join(mark);

/** Noncharacters of Unicode: they stand in no text that is meant to be read. */
const NONCHARACTERS = [
  ...Array.from({ length: 32 }, (_, i) => 0xfdd0 + i),
  ...Array.from({ length: 17 }, (_, plane) => [plane * 0x10000 + 0xfffe, plane * 0x10000 + 0xffff]).flat(),
].map((code) => String.fromCodePoint(code));

/**
 * Noncharacters that occur nowhere in what was written, nor in the template.
 * @param {Record<string, unknown>} variables
 * @param {string} template
 * @param {number} n
 */
export function unusedMarks(variables, template, n) {
  // JSON doubles a backslash that was written: an escape that was written counts as used too.
  const texts = JSON.stringify(variables, (_, item) => (typeof item === 'bigint' ? String(item) : item)) + template;
  const unused = NONCHARACTERS.filter((mark) => !texts.includes(mark) && !texts.includes(escapedText(mark)));
  if (unused.length >= n) return unused.slice(0, n);
  throw qwenError('usage', `the messages hold too many noncharacters of Unicode: ${n} of them must not occur`);
}

const escapedPattern = (/** @type {string} */ text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const firstOf = (/** @type {string} */ text) => String.fromCodePoint(text.codePointAt(0) ?? 0);

/**
 * Puts marks into marker text; a marker's beginning at the end of a text counts too, since the template may complete it.
 * @param {Record<string, unknown>} variables what was written: messages, tools
 * @param {string[]} markers
 * @param {string} template
 * @returns {{ variables: Record<string, unknown>, marks: Map<string, string> }} marks: what each stands for
 */
export function protectMarkers(variables, markers, template) {
  const whole = markers.filter((marker) => marker.length > 1);
  if (whole.length === 0) return { variables, marks: new Map() };
  const firsts = [...new Set(whole.map(firstOf))];
  const list = unusedMarks(variables, template, firsts.length);
  const markFor = new Map(firsts.map((first, i) => [first, list[i]]));
  const inside = new RegExp(whole.map(escapedPattern).join('|'), 'g');
  const protect = (/** @type {string} */ text) => {
    let done = '';
    let from = 0;
    for (const at of [...Array.from(text.matchAll(inside), ({ index }) => index), ...beginnings(text, whole)]) {
      const first = firstOf(text.slice(at));
      done += text.slice(from, at) + markFor.get(first);
      from = at + first.length;
    }
    return done + text.slice(from);
  };
  return { variables: mapTexts(variables, protect), marks: new Map(firsts.map((first, i) => [list[i], first])) };
}

/**
 * Where true beginnings of markers stand that reach to the end of a text.
 * @param {string} text
 * @param {string[]} markers
 */
function beginnings(text, markers) {
  const longest = Math.max(...markers.map((marker) => marker.length)) - 1;
  const found = [];
  for (let at = Math.max(0, text.length - longest); at < text.length; at++) {
    const end = text.slice(at);
    if (markers.some((marker) => marker.length > end.length && marker.startsWith(end))) found.push(at);
  }
  return found;
}

/**
 * Takes the marks out of rendered text.
 * @param {string} text
 * @param {Map<string, string>} marks what each stands for
 * @returns {{ text: string, blocked: number[] }} blocked: byte offsets at which no control token may start
 */
export function takeMarks(text, marks) {
  let rendered = text;
  for (const [mark, first] of marks) {
    // What stands for a character outside ASCII has become an escape, as the character would have.
    rendered = rendered.split(escapedText(mark)).join(first < '\x80' ? mark : escapedText(first));
  }
  /** @type {number[]} */
  const blocked = [];
  if (marks.size === 0) return { text: rendered, blocked };
  const bytes = (/** @type {string} */ some) => new TextEncoder().encode(some).length;
  let offset = 0;
  let done = 0;
  const plain = rendered.replace(new RegExp([...marks.keys()].join('|'), 'gu'), (mark, /** @type {number} */ at) => {
    const first = marks.get(mark) ?? '';
    blocked.push((offset += bytes(rendered.slice(done, at))));
    offset += bytes(first);
    done = at + mark.length;
    return first;
  });
  return { text: plain, blocked };
}
