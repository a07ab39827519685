// Markdown as it streams. The parser gives events, the nodes are made here: text nodes and a fixed set of elements, so
// nothing that the model writes becomes markup, an address that is followed, or a request.
import * as smd from 'streaming-markdown';
import { highlighted } from './highlight.js';
import { button, make } from './dom.js';

/** Deeper nesting is shown at this depth: no reader needs more, and endless `>>>>` must not make endless elements. */
const DEEPEST = 24;
/** The parser's own room for nesting, which it does not check. */
const PARSER_DEPTH = 4096;
/** A block with more text than this goes on in a further block: browsers lay out a whole block again for each letter. */
const LONGEST_BLOCK = 4096;

const HEADINGS = [smd.HEADING_1, smd.HEADING_2, smd.HEADING_3, smd.HEADING_4, smd.HEADING_5, smd.HEADING_6];

/** @type {Record<number, keyof HTMLElementTagNameMap>} */
const TAGS = {
  [smd.PARAGRAPH]: 'p',
  [smd.CODE_INLINE]: 'code',
  [smd.ITALIC_AST]: 'em',
  [smd.ITALIC_UND]: 'em',
  [smd.STRONG_AST]: 'strong',
  [smd.STRONG_UND]: 'strong',
  [smd.STRIKE]: 's',
  [smd.LINK]: 'span',
  [smd.RAW_URL]: 'span',
  [smd.IMAGE]: 'span',
  [smd.BLOCKQUOTE]: 'blockquote',
  [smd.LINE_BREAK]: 'br',
  [smd.RULE]: 'hr',
  [smd.LIST_UNORDERED]: 'ul',
  [smd.LIST_ORDERED]: 'ol',
  [smd.LIST_ITEM]: 'li',
  [smd.CHECKBOX]: 'span',
  [smd.TABLE]: 'table',
  [smd.TABLE_ROW]: 'tr',
  [smd.TABLE_CELL]: 'td',
  [smd.EQUATION_BLOCK]: 'code',
  [smd.EQUATION_INLINE]: 'code',
};

/** Tokens whose text has no other sign of what it was: they keep their dollar signs. */
const EQUATIONS = { [smd.EQUATION_BLOCK]: '$$', [smd.EQUATION_INLINE]: '$' };

/**
 * What stands open while text comes.
 * @typedef {{ type: number, element: HTMLElement, into: HTMLElement, length: number, address: string }} Open
 */

export class MarkdownView {
  #root;
  #labels;
  #parser;
  /** @type {Open[]} */
  #open;
  /** How many open tokens have no element of their own, since they are nested too deep. */
  #buried = 0;
  #plain = false;
  /** Letters that were given out as text. */
  #letters = 0;

  /**
   * @param {HTMLElement} root where the nodes go
   * @param {{ code: string, copy: string }} labels
   * @param {(text: string) => void} onCopy
   */
  constructor(root, labels, onCopy) {
    this.#root = root;
    this.#labels = { ...labels, onCopy };
    this.#open = [{ type: smd.DOCUMENT, element: root, into: root, length: 0, address: '' }];
    this.#parser = smd.parser({
      data: this,
      add_token: (view, type) => view.#begin(type),
      end_token: (view) => view.#end(),
      add_text: (view, text) => view.#text(text),
      set_attr: (view, type, value) => view.#attribute(type, value),
    });
    this.#parser.tokens = Object.assign(new Uint32Array(PARSER_DEPTH), { 0: smd.DOCUMENT });
    this.#parser.spaces = new Uint8Array(PARSER_DEPTH);
  }

  /** @param {string} text a piece of the stream, cut anywhere between characters */
  write(text) {
    if (this.#plain) return this.#text(text);
    try {
      smd.parser_write(this.#parser, text);
    } catch {
      this.#giveUp(text);
    }
  }

  /** The stream has ended: what the parser still holds is shown. */
  end() {
    if (this.#plain) return;
    const held = this.#parser.pending;
    const shown = this.#letters;
    try {
      smd.parser_end(this.#parser);
    } catch {
      return this.#giveUp(held);
    }
    // Of a link that never closed the parser keeps the address to itself.
    if (this.#letters === shown && /[\p{L}\p{N}]/u.test(held)) this.#text(held);
  }

  /**
   * The parser has failed on hostile text: from here on the text stands as it is.
   * @param {string} text
   */
  #giveUp(text) {
    this.#plain = true;
    this.#open.length = 1;
    this.#text(text);
  }

  get #top() {
    return this.#open[this.#open.length - 1];
  }

  /** @param {number} type */
  #begin(type) {
    if (this.#open.length > DEEPEST) {
      this.#buried++;
      return;
    }
    const element = this.#elementOf(type);
    const into = element.querySelector('code') ?? element;
    this.#top.into.append(element);
    this.#open.push({ type, element, into, length: 0, address: '' });
    if (type in EQUATIONS) this.#text(/** @type {any} */ (EQUATIONS)[type]);
  }

  /** @param {number} type */
  #elementOf(type) {
    const level = HEADINGS.indexOf(/** @type {any} */ (type));
    // The headings of an answer are no headings of the page: they are marked by their level only.
    if (level >= 0) {
      const heading = make('p', 'heading');
      heading.dataset.level = String(level + 1);
      return heading;
    }
    if (type === smd.CODE_FENCE || type === smd.CODE_BLOCK) return this.#codeBlock();
    if (type === smd.TABLE_CELL && this.#top.element.parentElement?.childElementCount === 1) return make('th', '');
    if (type === smd.TABLE) return make('table', 'table');
    return make(TAGS[type] ?? 'span', '');
  }

  #codeBlock() {
    const code = make('code', '');
    const language = make('span', 'code-language', this.#labels.code);
    const copy = button('code-copy', this.#labels.copy, () => this.#labels.onCopy(code.textContent ?? ''));
    const text = make('pre', '', code);
    text.tabIndex = 0;
    text.setAttribute('aria-label', this.#labels.code);
    text.setAttribute('role', 'group');
    return make('div', 'code', make('div', 'code-head', language, copy), text);
  }

  #end() {
    if (this.#buried) {
      this.#buried--;
      return;
    }
    if (this.#open.length === 1) return;
    const { type, into, address, element } = this.#top;
    if (address) this.#text(type === smd.IMAGE && !into.textContent ? address : ` (${address})`);
    if (type in EQUATIONS) this.#text(/** @type {any} */ (EQUATIONS)[type]);
    if (type === smd.CODE_FENCE || type === smd.CODE_BLOCK) highlighted(into, element.dataset.language ?? '');
    this.#open.pop();
  }

  /** @param {string} text */
  #text(text) {
    const top = this.#top;
    if (top.element === this.#root && top.into === this.#root) {
      top.into = make('p', '');
      this.#root.append(top.into);
    }
    this.#letters += text.length;
    let rest = text;
    while (rest) {
      if (top.length >= LONGEST_BLOCK) {
        top.into = /** @type {HTMLElement} */ (make('span', 'run-on'));
        top.element.append(top.into);
        top.length = 0;
      }
      const piece = rest.slice(0, LONGEST_BLOCK);
      rest = rest.slice(piece.length);
      top.length += piece.length;
      const last = top.into.lastChild;
      if (last instanceof Text) last.appendData(piece);
      else top.into.append(piece);
    }
  }

  /**
   * @param {number} type
   * @param {string} value
   */
  #attribute(type, value) {
    if (this.#buried) return;
    const top = this.#top;
    if (type === smd.HREF && top.type === smd.LINK) top.address = value;
    else if (type === smd.SRC) top.address = value;
    else if (type === smd.CHECKED) top.into.textContent = '☑';
    else if (type === smd.START && top.element instanceof HTMLOListElement) top.element.start = Number(value) || 1;
    else if (type === smd.LANG) {
      const language = top.element.querySelector('.code-language');
      if (language && value) language.textContent = value.slice(0, 40);
      top.element.dataset.language = value;
    }
  }
}
