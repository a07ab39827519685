// One turn on the screen: who speaks, the text (Markdown of the model, plain text of the visitor), and what can be done with it.
import { button, make } from './dom.js';
import { MarkdownView } from './markdown.js';

/** Letters that are put on the screen in one frame: a burst of text must not hold the page. */
const LETTERS_A_FRAME = 8192;

/**
 * @typedef {import('./session.js').Turn} Turn
 * @typedef {import('./strings.js').Strings} Strings
 *
 * @typedef {object} TurnActions
 * @property {(text: string) => void} copy
 * @property {() => void} edit
 * @property {() => void} regenerate
 * @property {() => void} goOn
 */

export class TurnView {
  #turn;
  #strings;
  #actions;
  /** @type {MarkdownView | null} */
  #markdown = null;
  #pending = '';
  #frame = 0;
  #ended = false;
  #onGrown;
  #text = make('div', 'text');
  #note = make('p', 'note');
  #buttons = make('div', 'turn-actions');

  /**
   * @param {Turn} turn
   * @param {Strings} strings
   * @param {TurnActions} actions
   * @param {() => void} onGrown after the text on the screen has grown
   */
  constructor(turn, strings, actions, onGrown) {
    this.#turn = turn;
    this.#strings = strings;
    this.#actions = actions;
    this.#onGrown = onGrown;
    const own = turn.role === 'user';
    const who = make('p', 'visually-hidden', own ? strings.you : strings.model);
    this.#text.dir = 'auto';
    this.#note.hidden = true;
    this.element = make('li', own ? 'turn user' : 'turn assistant', who, this.#text, this.#note, this.#buttons);
    if (own) {
      this.#text.append(turn.content);
      this.#buttons.append(this.#action('copy'), this.#action('edit'));
    } else if (turn.content) {
      this.add(turn.content);
    }
  }

  /** @param {'copy' | 'edit' | 'regenerate' | 'goOn'} name */
  #action(name) {
    return button(`action ${name}`, this.#strings[name], () => this.#actions[name](this.#turn.content));
  }

  /** @param {string} text */
  add(text) {
    this.#pending += text;
    this.#schedule();
  }

  /** Once a frame: tokens may come faster than the screen is drawn. */
  #schedule() {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#frame = 0;
    const piece = this.#pending.slice(0, LETTERS_A_FRAME);
    this.#pending = this.#pending.slice(piece.length);
    const labels = { code: this.#strings.code, copy: this.#strings.copy };
    this.#markdown ??= new MarkdownView(this.#text, labels, (code) => this.#actions.copy(code));
    this.#markdown.write(piece);
    if (this.#pending) this.#schedule();
    else if (this.#ended) this.#markdown.end();
    this.#onGrown();
  }

  /**
   * The answer is whole, was stopped, or failed.
   * @param {{ last: boolean, canGoOn: boolean, note?: string, error?: boolean }} state
   */
  finish({ last, canGoOn, note = '', error = false }) {
    this.#ended = true;
    this.#schedule();
    this.#note.textContent = note;
    this.#note.hidden = !note;
    this.#note.classList.toggle('error', error);
    if (this.#turn.role === 'user') return;
    this.#buttons.replaceChildren(
      ...(this.#turn.content ? [this.#action('copy')] : []),
      ...(last ? [this.#action('regenerate')] : []),
      ...(last && canGoOn ? [this.#action('goOn')] : []),
    );
  }

  /** More is coming: a turn that was whole is gone on with. */
  reopen() {
    this.#ended = false;
    this.#note.hidden = true;
    this.#buttons.replaceChildren();
    this.#text.replaceChildren();
    this.#markdown = null;
    this.#pending = this.#turn.content;
    this.#schedule();
  }

  /** What is said while no text has come. @param {string} text '' takes it away */
  wait(text) {
    this.#note.textContent = text;
    this.#note.hidden = !text;
    this.#note.classList.toggle('busy', text !== '');
  }
}
