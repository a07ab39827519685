// White space and tags of a text that comes in pieces: what may yet turn out to touch a tag, or to be one, waits.

export const BLANKS = /^[ \t\r\n]+/;

/** @param {string} text */
export const withoutLeadingBlanks = (text) => text.replace(BLANKS, '');

/** @param {string} text */
export function withoutTrailingBlanks(text) {
  let end = text.length;
  while (end > 0 && ' \t\r\n'.includes(text[end - 1])) end--;
  return text.slice(0, end);
}

/**
 * How much of a text cannot change any more: all but a beginning of the tag at its end and the white space before that.
 * @param {string} text that does not hold the tag
 * @param {string} tag
 */
export function settledLength(text, tag) {
  let part = Math.min(tag.length - 1, text.length);
  while (part > 0 && !text.endsWith(tag.slice(0, part))) part--;
  return withoutTrailingBlanks(text.slice(0, text.length - part)).length;
}
