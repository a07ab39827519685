// <qwen-chat>: a conversation with a model that runs in the page. Attributes are the state that HTML can give; properties
// take what it cannot (files, an engine, objects). The element listens to nothing outside of itself.
import { Engine } from '../index.js';
import { ChatView } from './chat-view.js';
import { ChatSession } from './session.js';
import { stringsOf } from './strings.js';
import { adoptStyle } from './style.js';
import { keepDraft, keepTurns, keptDraft, keptTurns } from './transcript-store.js';

/**
 * @typedef {import('../types.js').ModelSource} ModelSource
 * @typedef {import('../types.js').LoadOptions} LoadOptions
 * @typedef {import('../types.js').Message} Message
 * @typedef {import('./session.js').Phase} Phase
 * @typedef {import('./session.js').Turn} Turn
 * @typedef {import('./strings.js').Strings} Strings
 */

/** On a server there is no HTMLElement: the module can be imported there, the class not be used. */
const Base = /** @type {typeof HTMLElement} */ (globalThis.HTMLElement ?? class {});

const NAMES_OF_SOURCE = ['src', 'repo', 'file', 'revision'];

/**
 * @attr {string} src Address of a model: a GGUF file, a checkpoint folder (ends in /) or a manifest.
 * @attr {string} repo A Hugging Face repository, as Owner/name; with `file` and `revision`.
 * @attr {string} file
 * @attr {string} revision
 * @attr {string} name What the model is called; default: as its file says.
 * @attr {string} system System message.
 * @attr {string} greeting Shown before the first message (Markdown).
 * @attr {string} suggestions First messages to choose from: a JSON array, or one a line.
 * @attr {string} settings Generation settings as a JSON object.
 * @attr {string} options Load options as a JSON object.
 * @attr {string} placeholder
 * @attr {string} lang Language of the element's words: en, de, zh; default: the page's.
 * @attr {boolean} consent 'never' downloads without asking. Default: asks.
 * @attr {boolean} forget Keeps no transcript over a reload.
 * @attr {boolean} stats Shows tokens per second.
 *
 * @fires qwen-phase detail {phase}: none, looking, offered, loading, paused, declined, ready, answering, failed
 * @fires qwen-progress detail: Progress of a download
 * @fires qwen-token detail: a Chunk of an answer; index above 0 where settings ask for several
 * @fires qwen-message detail {role, content, finish, result}: a whole message; result: the answer's Result
 * @fires qwen-error detail {error}: of a load, an attribute or an answer
 */
export class QwenChatElement extends Base {
  static observedAttributes = [
    ...NAMES_OF_SOURCE,
    ...['system', 'settings', 'placeholder', 'greeting', 'suggestions', 'stats'],
  ];

  #session = new ChatSession(Engine, {
    onPhase: (phase) => this.#showPhase(phase),
    onProgress: (progress) => {
      this.#view?.showProgress(progress);
      this.#tell('qwen-progress', progress);
    },
    onReading: (progress) => this.#view?.showReading(progress),
    onTurn: (index) => this.#view?.showTurns(index),
    onChunk: (chunk) => {
      if (chunk.index === 0 && chunk.text) this.#view?.addText(chunk.text);
      this.#tell('qwen-token', chunk);
    },
    onEnd: (turn) => this.#endTurn(turn),
  });
  /** @type {ChatView | null} made when the element first stands in a page */
  #view = null;
  /** @type {Partial<Strings>} */
  #strings = {};
  /** @type {ModelSource | null} */
  #source = null;
  /** @type {LoadOptions} */
  #loadOptions = {};
  /** @type {Record<string, unknown> | null} */
  #settings = null;
  #reopening = false;
  /** Whether the engine is the page's own: then no source is looked at. */
  #given = false;

  constructor() {
    super();
    this.attachShadow({ mode: 'open', delegatesFocus: true });
  }

  // ---- properties

  /** What to load: anything that Engine.load() takes. Setting it loads it. @returns {ModelSource | null} */
  get source() {
    return this.#source ?? this.#namedSource();
  }

  set source(source) {
    this.#source = source;
    this.#given = false;
    this.#reopen();
  }

  /** The engine in use, or null. Setting one uses it instead of loading; it stays the caller's to close. */
  get engine() {
    return this.#session.engine;
  }

  set engine(engine) {
    this.#given = engine !== null;
    void (engine ? this.#session.use(engine) : this.#session.close());
  }

  /** @returns {Phase} */
  get phase() {
    return this.#session.phase;
  }

  /** The conversation so far. Setting it shows another one. @returns {Message[]} */
  get messages() {
    return this.#session.turns.map(({ role, content }) => ({ role, content }));
  }

  set messages(messages) {
    void this.#session.stop().then(() => {
      this.#session.turns = turnsOf(messages);
      this.#view?.showTurns(0);
      this.#keep();
    });
  }

  /** Generation settings; they go before the attribute's. @returns {Record<string, unknown>} */
  get settings() {
    return this.#settings ?? this.#json('settings') ?? {};
  }

  set settings(settings) {
    this.#settings = settings;
    this.#session.settings = this.settings;
  }

  /** Options of Engine.load(), over those of the attribute `options`; read at the next load. @returns {LoadOptions} */
  get loadOptions() {
    return { ...this.#json('options'), ...this.#loadOptions };
  }

  set loadOptions(options) {
    this.#loadOptions = options;
  }

  /** Words in place of the element's own, by their names in strings.js; read when the element first stands in a page. */
  get strings() {
    return this.#strings;
  }

  set strings(strings) {
    this.#strings = strings;
  }

  // ---- methods

  /** Downloads and loads the model that was offered, without a click. */
  load() {
    return this.#session.accept();
  }

  /**
   * Sends a message as if the visitor had written it. False where it cannot be taken now.
   * @param {string} text
   * @returns {boolean}
   */
  send(text) {
    return this.#view?.send(text) ?? false;
  }

  /** Ends the answer that is being made; what there is of it stays. */
  stop() {
    return this.#session.stop();
  }

  /** Forgets the conversation. */
  async clear() {
    await this.#session.clear();
    this.#keep();
  }

  /**
   * Gives the focus to the field.
   * @override
   * @param {FocusOptions} [options]
   */
  focus(options) {
    this.#view?.focus(options);
  }

  // ---- life

  connectedCallback() {
    this.#build();
    if (!this.#session.engine && this.#session.phase !== 'loading') this.#reopen();
  }

  disconnectedCallback() {
    // An element that is only moved comes back at once and goes on as it was.
    queueMicrotask(() => {
      if (!this.isConnected && !this.#given) void this.#session.close().then(() => this.#keep());
      else if (!this.isConnected) void this.#session.stop().then(() => this.#keep());
    });
  }

  /** @param {string} name */
  attributeChangedCallback(name) {
    this.#session.system = this.getAttribute('system') ?? '';
    this.#session.settings = this.settings;
    if (!this.#view) return;
    if (NAMES_OF_SOURCE.includes(name)) this.#reopen();
    else this.#showAttributes(this.#view);
  }

  #build() {
    if (this.#view) return;
    const root = /** @type {ShadowRoot} */ (this.shadowRoot);
    const locale = this.#locale;
    adoptStyle(root);
    this.#view = new ChatView(root, {
      session: this.#session,
      strings: { ...stringsOf(locale), ...this.#strings },
      locale,
      modelName: () => this.#modelName,
      onSend: (text, at) => this.#send(text, at),
      onClear: () => void this.clear(),
      onDraft: (text) => !this.hasAttribute('forget') && keepDraft(this.#storeKey, text),
    });
    if (!this.hasAttribute('forget')) this.#view.draft(keptDraft(this.#storeKey));
    if (!this.#session.turns.length && !this.hasAttribute('forget')) this.#session.turns = keptTurns(this.#storeKey);
    this.#showAttributes(this.#view);
    this.#view.showTurns(0);
    this.#view.jump();
  }

  /** @param {ChatView} view */
  #showAttributes(view) {
    view.placeholder(this.getAttribute('placeholder') ?? '');
    view.showSpeed(this.hasAttribute('stats'));
    view.showGreeting(this.getAttribute('greeting') ?? '', this.#suggestions());
  }

  /** Several changes of one task are one load. */
  #reopen() {
    if (this.#reopening || this.#given || !this.isConnected) return;
    this.#reopening = true;
    queueMicrotask(() => {
      this.#reopening = false;
      const ask = this.getAttribute('consent') !== 'never';
      if (this.isConnected && !this.#given) void this.#session.open(this.source, this.loadOptions, ask);
    });
  }

  // ---- what the attributes say

  /** @returns {ModelSource | null} */
  #namedSource() {
    const [src, repo, file, revision] = NAMES_OF_SOURCE.map((name) => this.getAttribute(name));
    if (src) return src;
    return repo ? { repo, ...(file && { file }), ...(revision && { revision }) } : null;
  }

  /**
   * A JSON value in an attribute; null where there is none, or none that can be read.
   * @param {string} name
   * @returns {any}
   */
  #json(name) {
    const text = this.getAttribute(name);
    if (!text) return null;
    try {
      return JSON.parse(text);
    } catch (error) {
      const why = /** @type {Error} */ (error).message;
      this.#tell('qwen-error', { error: new SyntaxError(`the attribute ${name} of <qwen-chat> is no JSON: ${why}`) });
      return null;
    }
  }

  /** @returns {string[]} */
  #suggestions() {
    const text = this.getAttribute('suggestions')?.trim() ?? '';
    const list = text.startsWith('[') ? this.#json('suggestions') : text.split('\n').map((line) => line.trim());
    return Array.isArray(list) ? list.filter((one) => typeof one === 'string' && one) : [];
  }

  get #locale() {
    const near = /** @type {HTMLElement | null} */ (this.closest('[lang]'));
    return near?.lang || navigator.language || 'en';
  }

  get #modelName() {
    const { source } = this;
    const place = typeof source === 'string' || source instanceof URL ? String(source) : '';
    const file = place.split(/[?#]/)[0].replace(/\/$/, '').split('/').pop();
    const named = /** @type {any} */ (source)?.name ?? /** @type {any} */ (source)?.repo;
    return this.getAttribute('name') || this.#session.engine?.info.name || named || file || 'Qwen2';
  }

  // ---- the conversation

  get #storeKey() {
    return this.id || JSON.stringify(this.#namedSource());
  }

  #keep() {
    if (!this.hasAttribute('forget')) keepTurns(this.#storeKey, this.#session.turns);
  }

  /**
   * @param {string} text
   * @param {number} at
   */
  #send(text, at) {
    if (!this.#session.send(text, at)) return false;
    this.#tell('qwen-message', { role: 'user', content: text });
    this.#keep();
    return true;
  }

  /** @param {Phase} phase */
  #showPhase(phase) {
    this.#view?.showPhase();
    this.#tell('qwen-phase', { phase });
    if (phase === 'failed') this.#tell('qwen-error', { error: this.#session.error });
  }

  /** @param {Turn} turn */
  #endTurn(turn) {
    this.#view?.endTurn(turn);
    this.#keep();
    const { role, content, finish, result } = turn;
    this.#tell('qwen-message', { role, content, finish, result });
    // Of an engine that was lost the phase tells.
    if (finish === 'error' && this.#session.engine) this.#tell('qwen-error', { error: this.#session.error });
  }

  /**
   * @param {string} type
   * @param {object} detail
   */
  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
  }
}

/**
 * @param {Message[]} messages
 * @returns {Turn[]}
 */
function turnsOf(messages) {
  const said = messages.filter(({ role }) => role === 'user' || role === 'assistant');
  return said.map(({ role, content }) => ({
    role: role === 'user' ? 'user' : 'assistant',
    content: typeof content === 'string' ? content : (content ?? []).map((part) => part.text).join(''),
    finish: role === 'user' ? undefined : 'eos',
  }));
}
