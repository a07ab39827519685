// A model on its way, in words and one bar: what it costs before anything is downloaded, how far it is, pause, and what to do
// about an error.
import { button, make, sizeOf, waitOf } from './dom.js';
import { fill } from './strings.js';

/**
 * @typedef {import('./session.js').ChatSession} ChatSession
 * @typedef {import('./strings.js').Strings} Strings
 */

/** Has the height of a line, so that nothing moves when there is something to say. */
const BLANK = '\u00a0';

export class LoadPanel {
  #session;
  #strings;
  #locale;
  #text = make('p', 'load-text');
  #bar = make('progress', 'load-bar');
  #more = make('p', 'load-more');
  #buttons = make('div', 'load-buttons');

  /**
   * @param {ChatSession} session
   * @param {Strings} strings
   * @param {string} locale
   */
  constructor(session, strings, locale) {
    this.#session = session;
    this.#strings = strings;
    this.#locale = locale;
    this.element = make('div', 'load', this.#text, this.#bar, this.#more, this.#buttons);
    this.#text.id = 'load-text';
    this.#bar.setAttribute('aria-labelledby', 'load-text');
  }

  /** @param {number} bytes */
  #size(bytes) {
    return sizeOf(bytes, this.#locale);
  }

  /**
   * Shows the phase that the session is in.
   * @param {string} name what the model is called
   */
  show(name) {
    const session = this.#session;
    const strings = this.#strings;
    const views = {
      none: () => this.#lines(strings.noSource),
      looking: () => this.#working(strings.looking),
      offered: () => this.#offer(name),
      loading: () =>
        this.#working(
          fill(strings.loading, { name }),
          this.#button('pause', () => session.pause()),
        ),
      paused: () => this.#paused(),
      declined: () =>
        this.#lines(
          strings.declined,
          '',
          this.#button('accept', () => void session.accept()),
        ),
      failed: () => this.#failed(),
    };
    const view = views[/** @type {keyof typeof views} */ (session.phase)];
    this.element.hidden = !view;
    this.element.classList.toggle('working', session.phase === 'looking' || session.phase === 'loading');
    this.element.classList.toggle('error', session.phase === 'failed');
    view?.();
  }

  /**
   * @param {'accept' | 'decline' | 'pause' | 'resume' | 'retry'} name
   * @param {() => void} onClick
   */
  #button(name, onClick) {
    return button(`load-${name}`, this.#strings[name], onClick);
  }

  /**
   * @param {string} text
   * @param {string} more
   * @param {...HTMLButtonElement} buttons
   */
  #lines(text, more = '', ...buttons) {
    const held = this.element.contains(/** @type {ShadowRoot} */ (this.element.getRootNode()).activeElement);
    this.#text.textContent = text;
    this.#bar.hidden = true;
    this.#more.textContent = more;
    this.#more.hidden = !more;
    this.#buttons.replaceChildren(...buttons);
    // The button that was pressed is gone: the focus goes to the one in its place.
    if (held) buttons[0]?.focus();
  }

  /**
   * @param {string} text
   * @param {...HTMLButtonElement} buttons
   */
  #working(text, ...buttons) {
    this.#lines(text, BLANK, ...buttons);
    this.#bar.hidden = false;
    this.#bar.removeAttribute('value');
  }

  /** @param {string} name */
  #offer(name) {
    const { plan } = this.#session;
    if (!plan) return;
    const strings = this.#strings;
    const memory = this.#size(plan.peakBytes);
    const facts = plan.fits
      ? [fill(strings.offerMemory, { memory })]
      : [fill(strings.doesNotFit, { name, memory }), ...plan.advice];
    if (plan.storageBytes !== null) {
      const storage = plan.storageBytes < plan.downloadBytes ? strings.storageShort : strings.offerStorage;
      facts.push(fill(storage, { free: this.#size(plan.storageBytes) }));
    }
    this.#lines(
      fill(strings.offer, { name, size: this.#size(plan.downloadBytes) }),
      facts.join(' '),
      this.#button('accept', () => void this.#session.accept()),
      this.#button('decline', () => this.#session.decline()),
    );
  }

  #paused() {
    const { loaded = 0, total = null } = this.#session.progress ?? {};
    const values = { loaded: this.#size(loaded), total: this.#size(total ?? loaded) };
    this.#lines(
      fill(this.#strings.paused, values),
      '',
      this.#button('resume', () => void this.#session.accept()),
    );
    this.#bar.hidden = total === null;
    this.#bar.value = total ? loaded / total : 0;
  }

  #failed() {
    const { error } = this.#session;
    this.#lines(
      error?.message ?? this.#strings.lost,
      '',
      this.#button('retry', () => void this.#session.retry()),
    );
  }

  /**
   * @param {import('../types.js').Progress} progress
   * @param {string} name
   */
  progress({ phase, loaded, total, bytesPerSecond, secondsLeft }, name) {
    const strings = this.#strings;
    this.#text.textContent = fill(phase === 'download' ? strings.downloading : strings.loading, { name });
    if (total) this.#bar.value = loaded / total;
    const parts = [total ? fill(strings.progress, { loaded: this.#size(loaded), total: this.#size(total) }) : ''];
    if (phase === 'download' && bytesPerSecond) {
      parts.push(fill(strings.rate, { rate: this.#size(bytesPerSecond) }));
      if (secondsLeft) parts.push(fill(strings.left, { time: waitOf(secondsLeft, this.#locale) }));
    }
    this.#more.textContent = parts.filter(Boolean).join(' · ') || BLANK;
  }
}
