// What every part of the element needs of the document: nodes made of text only, and words for sizes.

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {string} part the name under which a page may style it, and its class
 * @param {...(string | Node)} children strings become text, never markup
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, part, ...children) {
  const element = document.createElement(tag);
  if (part) {
    element.className = part;
    element.part.add(...part.split(' '));
  }
  element.append(...children);
  return element;
}

/**
 * @param {string} part
 * @param {string} label
 * @param {() => void} onClick
 */
export function button(part, label, onClick) {
  const element = make('button', part, label);
  element.type = 'button';
  element.addEventListener('click', onClick);
  return element;
}

/**
 * Bytes in decimal units, as download pages give them: 491 MB.
 * @param {number} bytes
 * @param {string} [locale]
 */
export function sizeOf(bytes, locale) {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'];
  let unit = 0;
  let value = bytes;
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1000;
  const maximumFractionDigits = unit > 0 && value < 10 ? 1 : 0;
  const options = { style: 'unit', unit: units[unit], unitDisplay: 'short', maximumFractionDigits };
  return new Intl.NumberFormat(locale, /** @type {Intl.NumberFormatOptions} */ (options)).format(value);
}

/**
 * A time to wait, rounded so that it does not flicker: seconds below a minute in steps of five, then minutes.
 * @param {number} seconds
 * @param {string} [locale]
 */
export function waitOf(seconds, locale) {
  const minutes = seconds >= 60;
  const value = minutes ? Math.round(seconds / 60) : Math.max(5, Math.ceil(seconds / 5) * 5);
  const options = { style: 'unit', unit: minutes ? 'minute' : 'second', unitDisplay: 'long' };
  return new Intl.NumberFormat(locale, /** @type {Intl.NumberFormatOptions} */ (options)).format(value);
}
