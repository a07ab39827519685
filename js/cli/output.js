/**
 * What the commands print. Text of a model or a file may hold control characters by which a terminal is told to do things
 * (set the clipboard, the title, answer with what it shows): on a terminal they are shown instead of sent. What goes to a file
 * or a pipe stays as it is.
 */

/** C0 but tab and line feed, DEL, and C1, whose 8-bit forms are escapes too. */
// eslint-disable-next-line no-control-regex
const CONTROLS = /\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

/** @param {string} text */
export const visible = (text) =>
  text.replace(CONTROLS, (char) => {
    const code = char.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? '\u2421' : `\\x${code.toString(16)}`;
  });

/**
 * @param {NodeJS.WriteStream} stream
 * @param {string} text
 */
function print(stream, text) {
  stream.write(stream.isTTY ? visible(text) : text);
}

/** @param {string} text */
export const out = (text) => print(process.stdout, text);

/** @param {string} text */
export const err = (text) => print(process.stderr, text);
