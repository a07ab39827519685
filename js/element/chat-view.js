// The chat on the screen, inside the element's shadow root: transcript, greeting, the model on its way, the field, the foot.
import { Announcer } from './announcer.js';
import { Composer } from './composer.js';
import { button, make } from './dom.js';
import { Follower } from './follow.js';
import { LoadPanel } from './load-panel.js';
import { fill } from './strings.js';
import { TurnView } from './turn-view.js';

/**
 * @typedef {import('./session.js').ChatSession} ChatSession
 * @typedef {import('./session.js').Turn} Turn
 * @typedef {import('./strings.js').Strings} Strings
 *
 * @typedef {object} ChatViewParts
 * @property {ChatSession} session
 * @property {Strings} strings
 * @property {string} locale
 * @property {() => string} modelName
 * @property {(text: string, at: number) => boolean} onSend at: the turn that the message takes the place of
 * @property {() => void} onClear
 * @property {(text: string) => void} onDraft what stands in the field
 */

/** Answers that can be gone on with: they ended at a limit or were stopped. */
const OPEN_ENDS = ['length', 'time', 'aborted', 'stopping'];

/** A prompt that takes longer to read says how far it is. */
const LONG_PROMPT = 256;

export class ChatView {
  #session;
  #strings;
  #modelName;
  #onSend;
  #announcer;
  #composer;
  #panel;
  #follower;
  /** The engine that was said to be ready. @type {unknown} */
  #greeted = null;
  /** The turn that is being edited; -1: none. */
  #edited = -1;
  /** @type {TurnView[]} */
  #views = [];
  #turns = make('ol', 'turns');
  #greeting = make('div', 'greeting');
  #scroll = make('div', 'scroll');
  #meter = make('span', 'meter');
  #speed = make('span', 'speed');

  /**
   * @param {ShadowRoot} root
   * @param {ChatViewParts} parts
   */
  constructor(root, { session, strings, locale, modelName, onSend, onClear, onDraft }) {
    this.#session = session;
    this.#strings = strings;
    this.#modelName = modelName;
    this.#onSend = onSend;
    this.#announcer = new Announcer(strings.label);
    this.#panel = new LoadPanel(session, strings, locale);
    this.#composer = new Composer({
      strings,
      onSend: (text) => this.send(text),
      onDraft,
      onStop: () => void session.stop(),
      onCancel: () => (this.#edited = -1),
    });
    const jump = button('jump', strings.jump, () => this.#follower.jump());
    jump.hidden = true;
    this.#follower = new Follower(this.#scroll, (following) => (jump.hidden = following));
    this.#scroll.tabIndex = 0;
    this.#scroll.setAttribute('role', 'group');
    this.#scroll.setAttribute('aria-label', strings.transcript);
    this.#scroll.append(this.#greeting, this.#turns);
    this.#composer.element.append(this.#foot(onClear));
    const scroller = make('div', 'scroller', this.#scroll, jump);
    root.append(make('div', 'chat', scroller, this.#panel.element, this.#composer.element, this.#announcer.element));
  }

  /** @param {() => void} onClear */
  #foot(onClear) {
    this.#meter.hidden = true;
    const clear = button('clear', this.#strings.clear, () => {
      onClear();
      this.#announcer.say(this.#strings.cleared);
      this.#composer.input.focus();
    });
    const status = make('div', 'status', this.#meter, this.#speed);
    return make('div', 'foot', status, make('span', 'grow', this.#strings.disclaimer), clear);
  }

  /** @param {string} text */
  send(text) {
    const at = this.#edited >= 0 ? this.#edited : this.#session.turns.length;
    if (!this.#onSend(text, at)) return false;
    this.#edited = -1;
    this.#follower.jump();
    return true;
  }

  /** @param {FocusOptions} [options] */
  focus(options) {
    this.#composer.input.focus(options);
  }

  /** @param {string} text what had been written and not sent */
  draft(text) {
    this.#composer.input.value = text;
  }

  /** @param {boolean} shown */
  showSpeed(shown) {
    this.#speed.hidden = !shown;
  }

  /** @param {string} text of the site, or '' */
  placeholder(text) {
    this.#composer.placeholder(text);
  }

  /**
   * What stands there before the first message.
   * @param {string} text Markdown
   * @param {string[]} suggestions
   */
  showGreeting(text, suggestions) {
    this.#greeting.replaceChildren();
    if (text) {
      const view = new TurnView({ role: 'assistant', content: text }, this.#strings, this.#actionsOf(-1), () => {});
      view.finish({ last: false, canGoOn: false });
      view.element.querySelector('.turn-actions')?.remove();
      this.#greeting.append(make('ol', 'turns', view.element));
    }
    const buttons = suggestions.map((one) => button('suggestion', one, () => this.#suggest(one)));
    if (buttons.length) this.#greeting.append(make('div', 'suggestions', ...buttons));
    this.#showOrHideGreeting();
  }

  #showOrHideGreeting() {
    this.#greeting.hidden = this.#session.turns.length > 0 || !this.#greeting.childElementCount;
  }

  /** @param {string} text */
  #suggest(text) {
    // Where it cannot be sent yet, the text waits in the field.
    if (!this.send(text)) this.#composer.input.value = text;
    this.#composer.input.focus();
  }

  /** Shows the phase that the session is in. */
  showPhase() {
    const { phase, chats, takesMessages, engine, error } = this.#session;
    const name = this.#modelName();
    this.#panel.show(name);
    this.#composer.show({ answering: phase === 'answering', enabled: takesMessages, chats });
    if (phase === 'ready' && engine !== this.#greeted) this.#announcer.say(fill(this.#strings.ready, { name }));
    this.#greeted = engine;
    if (phase === 'failed') this.#announcer.say(error?.message ?? this.#strings.lost);
    if (phase === 'answering') this.#wait(this.#strings.thinking);
  }

  /** @param {import('../types.js').Progress} progress of a download */
  showProgress(progress) {
    this.#panel.progress(progress, this.#modelName());
  }

  /** @param {import('../types.js').Progress} progress of a prompt */
  showReading({ loaded, total }) {
    if (total && total > LONG_PROMPT) this.#wait(fill(this.#strings.reading, { loaded, total }));
  }

  /** @param {number} from turns from this one on are drawn anew */
  showTurns(from) {
    const { turns } = this.#session;
    for (const view of this.#views.splice(from)) view.element.remove();
    for (let i = from; i < turns.length; i++) {
      const view = new TurnView(turns[i], this.#strings, this.#actionsOf(i), () => this.#follower.follow());
      this.#views.push(view);
      this.#turns.append(view.element);
      if (turns[i].finish || turns[i].role === 'user') this.#finish(i);
    }
    // Only the last answer can be made again.
    if (from > 0 && turns[from - 1]?.role === 'assistant') this.#finish(from - 1);
    this.#showOrHideGreeting();
    if (!turns.length) this.#meter.hidden = true;
  }

  /** The end of the transcript, wherever the reader was. */
  jump() {
    this.#follower.jump();
  }

  /** @param {number} index */
  #finish(index) {
    const turn = this.#session.turns[index];
    const last = index === this.#session.turns.length - 1;
    const canGoOn = OPEN_ENDS.includes(turn.finish ?? '') || !this.#session.chats;
    this.#views[index].finish({ last, canGoOn, note: this.#noteOf(turn), error: turn.finish === 'error' });
  }

  /** @param {Turn} turn */
  #noteOf(turn) {
    if (turn.finish === 'error') return turn.error ?? this.#strings.lost;
    const notes = turn.finish === 'length' && this.#session.chats ? [this.#strings.cutOff] : [];
    if (turn.finish === 'aborted') notes.push(this.#strings.stopped);
    return [...notes, ...(turn.notes ?? [])].join(' ');
  }

  /** @param {number} index */
  #actionsOf(index) {
    return {
      copy: (/** @type {string} */ text) => void this.#copy(text),
      edit: () => {
        if (this.#session.phase === 'answering') return;
        this.#edited = index;
        this.#composer.edit(this.#session.turns[index].content);
      },
      regenerate: () => {
        this.#session.regenerate();
        this.#composer.input.focus();
      },
      goOn: () => {
        this.#views[this.#views.length - 1].reopen();
        this.#session.goOn();
        this.#composer.input.focus();
      },
    };
  }

  /** @param {string} text */
  async #copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.#announcer.say(this.#strings.copied);
    } catch {
      this.#announcer.say(this.#strings.copyFailed);
    }
  }

  /** @param {string} text what is said while no text has come; '' takes it away */
  #wait(text) {
    this.#views[this.#views.length - 1]?.wait(text);
    this.#follower.follow();
  }

  /** @param {string} text more of the last turn */
  addText(text) {
    this.#wait('');
    this.#views[this.#views.length - 1]?.add(text);
    this.#announcer.stream(text);
  }

  /** @param {Turn} turn the last one, which is whole now */
  endTurn(turn) {
    const { turns, used, engine, speed } = this.#session;
    const index = turns.indexOf(turn);
    this.#announcer.flush();
    if (index >= 0) {
      this.#views[index].wait('');
      this.#finish(index);
    }
    if (turn.error) this.#announcer.say(turn.error);
    if (engine && used) this.#showMeter(used, engine.info.contextLength);
    this.#speed.textContent = speed ? fill(this.#strings.speed, { speed: speed.toFixed(1) }) : '';
    this.#follower.follow();
  }

  /**
   * @param {number} used
   * @param {number} size
   */
  #showMeter(used, size) {
    const meter = make('meter', '');
    const text = fill(this.#strings.contextUsed, { used, size });
    meter.max = size;
    meter.value = used;
    meter.setAttribute('aria-label', `${this.#strings.context}: ${text}`);
    this.#meter.replaceChildren(meter, make('span', '', text));
    this.#meter.hidden = false;
  }
}
