/**
 * The conversation: what the visitor writes, what the model makes of it, and Stop. Text of the model only ever becomes
 * text nodes. In chat mode the whole conversation is sent each time (the engine keeps what it has read already); in
 * continuation mode each text stands for itself and can be gone on with.
 */
import { byId, make } from './dom.js';

/** @typedef {import('../js/index.js').Engine} Engine */
/** @typedef {import('../js/index.js').Generation} Generation */
/** @typedef {import('../js/index.js').Result} Result */

const PROBE_MS = 2000;

const EXAMPLE = 'It is a truth universally acknowledged, that';

/** @type {Record<string, string>} */
const ENDINGS = {
  eos: 'ended by itself',
  stop_string: 'ended at a stop string',
  length: 'cut off at max_new_tokens or the end of the context',
  time: 'ended by time',
  stopping: 'ended by the page',
  aborted: 'stopped',
};

const form = byId('composer', HTMLFormElement);
const log = byId('log');
const prompt = byId('prompt', HTMLTextAreaElement);
const send = byId('send', HTMLButtonElement);
const stop = byId('stop', HTMLButtonElement);
const system = byId('system', HTMLTextAreaElement);
const rate = byId('rate');
const hint = byId('prompt-hint');

/** Enter writes a new line where the keyboard is on the screen. */
const onScreenKeyboard = window.matchMedia('(pointer: coarse)').matches;
const HINT = onScreenKeyboard ? '' : 'Enter sends, Shift+Enter starts a new line, Escape stops.';

export class Conversation {
  #settings;
  #announcer;
  #onLost;
  /** @type {Engine | null} */
  #engine = null;
  #name = '';
  /** @type {import('../js/index.js').Message[]} */
  #messages = [];
  /** @type {{ stop(): void, done: Promise<void> } | null} */
  #running = null;

  /**
   * @param {object} parts
   * @param {import('./settings.js').Settings} parts.settings
   * @param {import('./dom.js').Announcer} parts.announcer
   * @param {(error: Error) => void} parts.onLost The engine does not answer any more.
   */
  constructor({ settings, announcer, onLost }) {
    this.#settings = settings;
    this.#announcer = announcer;
    this.#onLost = onLost;
    hint.textContent = HINT;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#submit();
    });
    form.addEventListener('change', () => this.#showMode());
    prompt.addEventListener('input', () => (hint.textContent = HINT));
    prompt.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing || onScreenKeyboard) return;
      event.preventDefault();
      form.requestSubmit();
    });
    window.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.#running?.stop();
    });
    stop.addEventListener('click', () => this.#running?.stop());
    byId('fresh').addEventListener('click', () => this.#fresh());
  }

  get #mode() {
    return new FormData(form).get('mode') === 'chat' ? 'chat' : 'continue';
  }

  /**
   * Stops what runs and talks to another engine from now on; null: to none.
   * @param {Engine | null} engine
   * @param {string} [name]
   */
  async setEngine(engine, name = '') {
    this.#running?.stop();
    await this.#running?.done;
    if (engine && log.childElementCount) log.append(make('li', 'divider', `From here on: ${name}`));
    this.#engine = engine;
    this.#name = name;
    this.#messages = [];
    send.disabled = !engine;
    if (engine) this.#offerModes(engine.info.chatTemplate !== null);
  }

  /** @param {boolean} canChat A model without a chat template only continues. */
  #offerModes(canChat) {
    const [chat, go] = /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll('[name=mode]'));
    chat.disabled = !canChat;
    (canChat ? chat : go).checked = true;
    byId('mode-hint').textContent = canChat ? '' : 'This is a base model: it has no chat template.';
    if (canChat && prompt.value === EXAMPLE) prompt.value = '';
    if (!canChat && prompt.value === '') prompt.value = EXAMPLE;
    this.#showMode();
  }

  #showMode() {
    const chat = this.#mode === 'chat';
    byId('prompt-label').textContent = chat ? 'Your message' : 'Text to continue';
    send.textContent = chat ? 'Send' : 'Continue';
    byId('system-field').hidden = !chat;
  }

  #fresh() {
    this.#running?.stop();
    this.#messages = [];
    log.replaceChildren();
    rate.textContent = '';
    this.#announcer.say('New conversation.');
    prompt.focus();
  }

  #submit() {
    if (this.#running || !this.#engine) return;
    if (!prompt.value.trim()) {
      hint.textContent = 'Write something first.';
      this.#announcer.say(hint.textContent);
      prompt.focus();
    } else if (this.#mode === 'chat') {
      this.#chat(prompt.value);
    } else {
      this.#continue(prompt.value);
    }
  }

  /** @param {string} text */
  #chat(text) {
    const engine = /** @type {Engine} */ (this.#engine);
    const user = { role: /** @type {const} */ ('user'), content: text };
    const first = system.value.trim() ? [{ role: /** @type {const} */ ('system'), content: system.value }] : [];
    const messages = [...first, ...this.#messages, user];
    const mine = make('li', 'user', make('p', 'who', 'You'), make('div', 'text', text));
    const answer = new Entry(this.#name);
    const history = this.#messages;
    prompt.value = '';
    log.append(mine, answer.element);
    void this.#run(answer, true, (options) => engine.chat(messages, options)).then((said) => {
      if (said !== null) history.push(user, { role: 'assistant', content: said });
      else if (!prompt.value) prompt.value = text;
      if (!answer.element.isConnected) mine.remove();
    });
  }

  /**
   * @param {string} text
   * @param {Entry} [entry] The entry that is gone on with.
   */
  #continue(text, entry) {
    const engine = /** @type {Engine} */ (this.#engine);
    const target = entry ?? new Entry(this.#name, text);
    log.append(target.element);
    void this.#run(target, false, (options) => engine.generate(text, options)).then((more) => {
      if ((more === null && !entry) || this.#engine !== engine) return;
      target.offer('Go on from here', () => {
        if (!this.#running && this.#engine === engine) this.#continue(text + (more ?? ''), target);
      });
    });
  }

  /**
   * Shows one generation in an entry. Resolves to its (first) text, or to null where there is none.
   * @param {Entry} entry
   * @param {boolean} chat
   * @param {(options: object) => Generation} begin
   */
  #run(entry, chat, begin) {
    /** @type {{ tokens: number, text: string, first: number, logprobs: import('../js/index.js').Chunk[] }} */
    const run = { tokens: 0, text: '', first: 0, logprobs: [] };
    /** @type {AsyncIterator<import('../js/index.js').Chunk> | null} */
    let chunks = null;
    const showRate = () => {
      const seconds = (performance.now() - run.first) / 1000;
      if (run.tokens > 1 && seconds > 0.2) rate.textContent = `${((run.tokens - 1) / seconds).toFixed(1)} tokens/s`;
    };
    const onProgress = (/** @type {import('../js/index.js').Progress} */ { loaded, total }) => {
      if (!run.tokens && total) rate.textContent = `Reading: ${loaded} of ${total} tokens`;
    };
    const work = async () => {
      const generation = begin({ ...this.#settings.read(chat), onProgress });
      entry.begin();
      chunks = generation[Symbol.asyncIterator]();
      for (;;) {
        const { done, value } = await chunks.next();
        if (done) break;
        run.first ||= performance.now();
        run.tokens += value.token_ids.length;
        if (value.logprobs) run.logprobs.push(value);
        entry.add(value.index, value.text, showRate);
        if (value.index > 0) continue;
        run.text += value.text;
        this.#announcer.stream(value.text);
      }
      const result = await generation.result;
      entry.finish(summary(result), resultDetails(result, run.logprobs));
    };
    const done = work()
      .catch((error) => {
        this.#announcer.say(error.message);
        if (run.tokens === 0 && this.#settings.blame(error)) return entry.withdraw();
        entry.fail(error.message);
        void this.#probe(error);
      })
      .finally(() => {
        this.#running = null;
        this.#showRunning(false);
        this.#announcer.flush();
        rate.textContent = '';
      });
    // Leaving the loop is how an answer is stopped: its result is what there is.
    this.#running = { done, stop: () => void chunks?.return?.() };
    this.#showRunning(true);
    return done.then(() => run.text || null);
  }

  /**
   * After an error: does the engine still answer?
   * @param {Error} error
   */
  async #probe(error) {
    const engine = this.#engine;
    if (!engine) return;
    const late = new Promise((_, reject) => setTimeout(reject, PROBE_MS, error));
    await Promise.race([engine.tokenize('a'), late]).catch(() => {
      if (this.#engine === engine) this.#onLost(error);
    });
  }

  /** @param {boolean} running */
  #showRunning(running) {
    const hadFocus = document.activeElement;
    send.hidden = running;
    stop.hidden = !running;
    if (running && hadFocus === send) stop.focus();
    if (!running && hadFocus === stop) send.focus();
  }
}

/** @param {Result} result */
function summary({ sequences, usage, timings, seed, notes }) {
  const { completion_tokens: made, prompt_tokens: prompt, cached_tokens: known } = usage;
  const parts = [`${made} ${made === 1 ? 'token' : 'tokens'}`];
  if (made > 1 && timings.decode > 0) parts.push(`${(((made - 1) * 1000) / timings.decode).toFixed(1)} tokens/s`);
  parts.push(
    `prompt of ${prompt}${known ? ` (${known} known already)` : ''} in ${(timings.prefill / 1000).toFixed(2)} s`,
  );
  parts.push(...new Set(sequences.map((row) => ENDINGS[row.finish_reason])), `seed ${seed}`);
  return [parts.join(' · '), ...notes].join('\n');
}

/**
 * All of a result, in words that can be copied; written when someone looks.
 * @param {Result} result
 * @param {import('../js/index.js').Chunk[]} chunks Those with log-probabilities.
 */
function resultDetails(result, chunks) {
  const details = make('details', 'result', make('summary', '', 'Result'));
  const write = () => {
    const lines = Object.entries(result).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
    const all = make('pre', '', lines.join('\n'));
    all.tabIndex = 0;
    details.append(...(chunks.length ? [logprobsTable(chunks)] : []), all);
  };
  details.addEventListener('toggle', write, { once: true });
  return details;
}

/** @param {import('../js/index.js').Chunk[]} chunks */
function logprobsTable(chunks) {
  const heads = ['row', 'text', 'token', 'raw', 'processed', 'likeliest, raw', 'likeliest, processed'];
  const list = (/** @type {Array<[number, number]>} */ top) =>
    top.map(([id, logprob]) => `${id} ${logprob.toFixed(3)}`).join(', ');
  const rows = chunks.flatMap(({ index, text, logprobs = [] }) =>
    logprobs.map((one) => [
      String(index),
      JSON.stringify(text),
      String(one.token_id),
      one.raw.toFixed(3),
      one.processed.toFixed(3),
      list(one.top_raw),
      list(one.top_processed),
    ]),
  );
  const head = make('tr', '', ...heads.map((text) => make('th', '', text)));
  const body = rows.map((cells) => make('tr', '', ...cells.map((text) => make('td', '', text))));
  const caption = make('caption', '', 'Log-probabilities');
  const table = make('table', '', caption, make('thead', '', head), make('tbody', '', ...body));
  const frame = make('div', 'scroll', table);
  frame.tabIndex = 0;
  return frame;
}

/** One answer, or one text with its continuation; where several sequences were asked for, all of them. */
class Entry {
  #text = make('div', 'text');
  /** @type {{ node: Text, pending: string }[]} By sequence. */
  #rows = [{ node: document.createTextNode(''), pending: '' }];
  #others = make('div', '');
  #below = make('div', '');
  #frame = 0;
  #fresh = true;

  /**
   * @param {string} name
   * @param {string} [given] The text that is continued.
   */
  constructor(name, given) {
    if (given) this.#text.append(make('span', 'given', given));
    this.#text.append(this.#rows[0].node);
    this.element = make('li', 'answer', make('p', 'who', name), this.#text, this.#others, this.#below);
  }

  /** The first sequence is what a text goes on with; the others were for looking at. */
  begin() {
    this.#rows.length = 1;
    this.#others.replaceChildren();
  }

  /** Takes the entry out where nothing ever stood in it but what the visitor wrote. */
  withdraw() {
    if (this.#fresh) this.element.remove();
  }

  /** @param {number} index Of the sequence. */
  #row(index) {
    while (this.#rows.length <= index) {
      const node = document.createTextNode('');
      this.#rows.push({ node, pending: '' });
      this.#others.append(make('p', 'who', `Sequence ${this.#rows.length}`), make('div', 'text', node));
    }
    return this.#rows[index];
  }

  /**
   * Tokens may come faster than the screen is drawn: text is added once a frame.
   * @param {number} index
   * @param {string} text
   * @param {() => void} [onFrame]
   */
  add(index, text, onFrame) {
    this.#row(index).pending += text;
    this.#fresh = false;
    this.#frame ||= requestAnimationFrame(() => {
      this.#draw();
      onFrame?.();
    });
  }

  #draw() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    keepComposerInView(() => {
      for (const row of this.#rows) {
        row.node.appendData(row.pending);
        row.pending = '';
      }
    });
  }

  /**
   * @param {string} remarks Lines.
   * @param {HTMLElement} details
   */
  finish(remarks, details) {
    this.#draw();
    this.#fresh = false;
    const lines = remarks.split('\n').map((line) => make('p', 'meta', line));
    keepComposerInView(() => this.#below.replaceChildren(...lines, details));
  }

  /** @param {string} message */
  fail(message) {
    this.#draw();
    this.#fresh = false;
    keepComposerInView(() => this.#below.replaceChildren(make('p', 'notice error', message)));
  }

  /**
   * @param {string} label
   * @param {() => void} onClick
   */
  offer(label, onClick) {
    const button = make('button', '', label);
    button.type = 'button';
    button.addEventListener('click', () => {
      this.#below.replaceChildren();
      prompt.focus({ preventScroll: true });
      onClick();
    });
    keepComposerInView(() => this.#below.append(make('div', 'entry-actions', button)));
  }
}

/**
 * Follows the growing text, but only while the visitor looks at its end.
 * @param {() => void} change
 */
function keepComposerInView(change) {
  const anchor = /** @type {HTMLElement} */ (send.parentElement);
  const distance = () => anchor.getBoundingClientRect().bottom + 16 - window.innerHeight;
  const follows = distance() < 48;
  change();
  if (follows && distance() > 0) window.scrollBy(0, distance());
}
