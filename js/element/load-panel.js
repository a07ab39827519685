// A model on its way, in words and one bar: what it costs before anything is downloaded, how far it is, pause, and what to do
// about an error.
import { button, make, sizeOf, waitOf } from './dom.js';
import { fill } from './strings.js';

/**
 * @typedef {import('./session.js').ChatSession} ChatSession
 * @typedef {import('./strings.js').Strings} Strings
 */

/** Seconds over which the speed of a download is taken. */
const WINDOW = 8;

/** Bytes per second over the last seconds. */
export class Rate {
  /** @type {{ at: number, loaded: number }[]} */
  #points = [];

  /**
   * @param {number} at seconds
   * @param {number} loaded bytes
   */
  add(at, loaded) {
    this.#points.push({ at, loaded });
    while (this.#points.length > 2 && at - this.#points[0].at > WINDOW) this.#points.shift();
  }

  get value() {
    const [first, last] = [this.#points[0], this.#points[this.#points.length - 1]];
    return first && last.at > first.at ? (last.loaded - first.loaded) / (last.at - first.at) : 0;
  }
}

export class LoadPanel {
  #session;
  #strings;
  #locale;
  #rate = new Rate();
  #free = Infinity;
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
    navigator.storage?.estimate?.().then(
      ({ quota = Infinity, usage = 0 }) => {
        this.#free = quota - usage;
        if (this.#session.phase === 'offered') this.show('');
      },
      () => {},
    );
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
    const { session, strings } = { session: this.#session, strings: this.#strings };
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
    this.#lines(text, ' ', ...buttons);
    this.#bar.hidden = false;
    this.#bar.removeAttribute('value');
  }

  /** @param {string} name */
  #offer(name) {
    const { plan } = this.#session;
    if (!plan) return;
    const short = this.#free < plan.downloadBytes;
    const free = this.#size(Math.max(0, this.#free));
    const storage = short ? this.#strings.storageShort : this.#strings.offerStorage;
    const facts = [fill(this.#strings.offerMemory, { memory: this.#size(plan.peakBytes) })];
    if (Number.isFinite(this.#free)) facts.push(fill(storage, { free }));
    this.#lines(
      fill(this.#strings.offer, { name, size: this.#size(plan.downloadBytes) }),
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
    this.#rate = new Rate();
  }

  #failed() {
    const { error } = this.#session;
    this.#lines(
      error?.message ?? this.#strings.lost,
      '',
      this.#button('retry', () => void this.#session.accept()),
    );
  }

  /**
   * @param {import('../types.js').Progress} progress
   * @param {string} name
   */
  progress({ phase, loaded, total }, name) {
    const strings = this.#strings;
    this.#rate.add(performance.now() / 1000, loaded);
    this.#text.textContent = fill(phase === 'download' ? strings.downloading : strings.loading, { name });
    if (total) this.#bar.value = loaded / total;
    const parts = [total ? fill(strings.progress, { loaded: this.#size(loaded), total: this.#size(total) }) : ''];
    const rate = this.#rate.value;
    if (phase === 'download' && rate > 0) {
      parts.push(fill(strings.rate, { rate: this.#size(rate) }));
      if (total) parts.push(fill(strings.left, { time: waitOf((total - loaded) / rate, this.#locale) }));
    }
    this.#more.textContent = parts.filter(Boolean).join(' · ') || ' ';
  }
}
