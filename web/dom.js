/**
 * What every part of the page needs of the document: its elements by id, new elements made of text only, words for
 * sizes, and panels.
 */

/**
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @param {new () => T} [type]
 * @returns {T}
 */
export function byId(id, type) {
  const element = document.getElementById(id);
  if (!element || (type && !(element instanceof type))) throw new Error(`the page has no such element: #${id}`);
  return /** @type {T} */ (element);
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {string} className
 * @param {...(string | Node)} children Strings become text, never markup.
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

/**
 * @param {string} label
 * @param {() => unknown} onClick
 */
export function button(label, onClick) {
  const element = make('button', '', label);
  element.type = 'button';
  element.addEventListener('click', () => void onClick());
  return element;
}

/** @param {number} bytes In decimal units, as download pages give them: 491 MB. */
export function sizeOf(bytes) {
  const units = ['bytes', 'kB', 'MB', 'GB'];
  let unit = 0;
  let value = bytes;
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1000;
  const digits = unit > 0 && value < 10 ? 1 : 0;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

/** @param {number} count 494000000 is '494 million'. */
export function countOf(count) {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)} billion`;
  if (count >= 1e7) return `${Math.round(count / 1e6)} million`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(1)} million`;
  return String(count);
}

/**
 * localStorage and sessionStorage may be missing or throw (private windows, sandboxed frames): then nothing is kept.
 * @param {'localStorage' | 'sessionStorage'} kind
 */
export function storage(kind) {
  return {
    /**
     * What was kept, or null.
     * @param {string} key
     * @returns {any}
     */
    get(key) {
      try {
        return JSON.parse(window[kind].getItem(key) ?? 'null');
      } catch {
        return null;
      }
    },
    /**
     * @param {string} key
     * @param {unknown} value null removes it.
     */
    set(key, value) {
      try {
        if (value === null) window[kind].removeItem(key);
        else window[kind].setItem(key, JSON.stringify(value));
      } catch {
        // Kept for comfort only.
      }
    },
  };
}

/**
 * A panel at the side: the browser keeps the focus in it, closes it with Escape and gives the focus back.
 * @param {string} id of a dialog; `open-…` is the button that opens it
 * @param {() => void} [onOpen]
 */
export function panel(id, onOpen) {
  const dialog = byId(id, HTMLDialogElement);
  const open = () => {
    if (!dialog.open) dialog.showModal();
    onOpen?.();
  };
  byId(`open-${id}`).addEventListener('click', open);
  dialog.querySelector('.close')?.addEventListener('click', () => dialog.close());
  // A click on what is behind it.
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
  return { open, close: () => dialog.close() };
}
