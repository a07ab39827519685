// Where the visitor writes. One button sends and stops, so that the focus has a place to stay.
import { button, make } from './dom.js';

/** Enter writes a new line where the keyboard is on the screen. */
const onScreenKeyboard = () => globalThis.matchMedia?.('(pointer: coarse)').matches ?? false;

/**
 * @typedef {object} ComposerParts
 * @property {import('./strings.js').Strings} strings
 * @property {(text: string) => boolean} onSend false: it was not taken, the text stays
 * @property {(text: string) => void} onDraft what stands in the field
 * @property {() => void} onStop
 * @property {() => void} onCancel an edit is given up
 */

export class Composer {
  #parts;
  #answering = false;
  #chats = true;
  /** The site's own placeholder, or ''. */
  #ownPlaceholder = '';
  #banner = make('div', 'editing');

  /** @param {ComposerParts} parts */
  constructor(parts) {
    const { strings } = parts;
    this.#parts = parts;
    this.input = make('textarea', 'input');
    this.input.rows = 1;
    this.input.dir = 'auto';
    this.button = button('send', strings.send, () => (this.#answering ? parts.onStop() : this.#send()));
    this.#banner.append(
      make('span', '', strings.editing),
      button('cancel-edit', strings.cancel, () => this.edit(null)),
    );
    this.#banner.hidden = true;
    this.element = make('div', 'composer', this.#banner, make('div', 'composer-row', this.input, this.button));
    this.element.addEventListener('keydown', (event) => this.#key(event));
    this.input.addEventListener('input', () => parts.onDraft(this.input.value));
    this.placeholder('');
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === 'Escape' && this.#answering) {
      event.preventDefault();
      this.#parts.onStop();
    } else if (event.key === 'Escape' && !this.#banner.hidden) {
      event.preventDefault();
      this.edit(null);
    } else if (event.key === 'Enter' && event.target === this.input && !this.#answering) {
      // 229: an input method is composing (Safari says so only here).
      if (event.shiftKey || event.isComposing || event.keyCode === 229 || onScreenKeyboard()) return;
      event.preventDefault();
      this.#send();
    }
  }

  #send() {
    const text = this.input.value;
    if (!text.trim()) return this.input.focus();
    if (!this.#parts.onSend(text)) return;
    this.input.value = '';
    this.#parts.onDraft('');
    this.#banner.hidden = true;
    this.input.focus();
  }

  /** @param {string} text of the site; '' takes our own */
  placeholder(text) {
    this.#ownPlaceholder = text;
    this.#showPlaceholder();
  }

  #showPlaceholder() {
    const { strings } = this.#parts;
    const text = this.#ownPlaceholder || (this.#chats ? strings.placeholder : strings.placeholderContinue);
    this.input.placeholder = text;
    this.input.setAttribute('aria-label', text);
  }

  /**
   * @param {{ answering: boolean, enabled: boolean, chats: boolean }} state
   */
  show({ answering, enabled, chats }) {
    const { strings } = this.#parts;
    this.#answering = answering;
    this.#chats = chats;
    this.#showPlaceholder();
    this.button.textContent = answering ? strings.stop : chats ? strings.send : strings.continueText;
    this.button.classList.toggle('stop', answering);
    this.button.setAttribute('aria-disabled', String(!enabled && !answering));
  }

  /** @param {string | null} text of an earlier message to be changed; null: no longer */
  edit(text) {
    if (text === null && !this.#banner.hidden) {
      this.input.value = '';
      this.#parts.onCancel();
    }
    this.#banner.hidden = text === null;
    if (text !== null) this.input.value = text;
    this.input.focus();
  }
}
