// What a chat is apart from how it looks: a model on its way (looked at, offered, loading, paused, ready), the turns, and the
// answer that is being made. Nothing here knows the document.

/**
 * @typedef {import('../types.js').Message} Message
 * @typedef {import('../types.js').ModelSource} ModelSource
 * @typedef {import('../types.js').LoadOptions} LoadOptions
 * @typedef {import('../types.js').MemoryPlan} MemoryPlan
 * @typedef {import('../types.js').Progress} Progress
 * @typedef {import('../types.js').Result} Result
 * @typedef {import('../index.js').Engine} Engine
 *
 * none: no source was named. looking: its headers are read. offered: a download waits for consent. loading, paused: on its
 * way. ready. answering. failed: see `error`.
 * @typedef {'none' | 'looking' | 'offered' | 'loading' | 'paused' | 'declined' | 'ready' | 'answering' | 'failed'} Phase
 *
 * A turn of the conversation. finish: a FinishReason or 'error'; absent while the answer is made.
 * @typedef {{ role: 'user' | 'assistant', content: string, finish?: string, notes?: string[], error?: string, result?: Result }} Turn
 *
 * @typedef {object} Listener
 * @property {(phase: Phase) => void} onPhase
 * @property {(progress: Progress) => void} onProgress of a download
 * @property {(progress: Progress) => void} onReading of a prompt
 * @property {(index: number) => void} onTurn turns from this index on were added, taken out or changed
 * @property {(chunk: import('../types.js').Chunk) => void} onChunk more of the last turn, where its index is 0
 * @property {(turn: Turn) => void} onEnd the last turn is whole
 */

export class ChatSession {
  /** @type {Phase} */
  phase = 'none';
  /** @type {Turn[]} */
  turns = [];
  /** @type {Engine | null} */
  engine = null;
  /** @type {MemoryPlan | null} */
  plan = null;
  /** @type {Progress | null} */
  progress = null;
  /** @type {Error | null} */
  error = null;
  /** Tokens of the context that the last answer has filled. */
  used = 0;
  /** Tokens per second of the last answer. */
  speed = 0;
  system = '';
  /** @type {Record<string, unknown>} */
  settings = {};

  #Engine;
  #listener;
  /** @type {ModelSource | null} */
  #source = null;
  /** @type {LoadOptions} */
  #options = {};
  #ask = true;
  #ownsEngine = true;
  /** @type {AbortController | null} */
  #work = null;
  /** @type {AsyncIterator<import('../types.js').Chunk> | null} */
  #chunks = null;
  /** @type {Promise<void>} */
  #answer = Promise.resolve();
  #waiting = false;

  /**
   * @param {Pick<typeof import('../index.js').Engine, 'load' | 'plan'>} Engine
   * @param {Listener} listener
   */
  constructor(Engine, listener) {
    this.#Engine = Engine;
    this.#listener = listener;
  }

  /** Whether the model answers messages; one without a chat template goes on with a text. */
  get chats() {
    return this.engine ? this.engine.info.chatTemplate !== null : true;
  }

  /** @param {Phase} phase */
  #enter(phase) {
    this.phase = phase;
    this.#listener.onPhase(phase);
  }

  /** @param {Error} error */
  #fail(error) {
    this.error = error;
    this.#enter('failed');
  }

  // ---- the model

  /**
   * Looks at a model; loads it where nothing has to be downloaded, or where it was asked for without a question.
   * @param {ModelSource | null} source
   * @param {LoadOptions} options
   * @param {boolean} ask whether a download waits for accept()
   */
  async open(source, options, ask) {
    const work = this.#renew();
    this.#source = source;
    this.#options = options;
    this.#ask = ask;
    this.error = null;
    await this.#release();
    if (work.signal.aborted) return;
    if (source === null) return this.#enter('none');
    try {
      this.plan = await this.#Engine.plan(source, { ...options, signal: work.signal });
      if (work.signal.aborted) return;
      if (ask && this.plan.downloadBytes > 0) return this.#enter('offered');
    } catch (error) {
      if (!work.signal.aborted) this.#fail(/** @type {Error} */ (error));
      return;
    }
    await this.accept();
  }

  /** Loads what open() has looked at, or goes on after pause(). */
  async accept() {
    if (this.#source === null) return;
    this.#work?.abort();
    const work = (this.#work = new AbortController());
    this.error = null;
    this.#enter('loading');
    try {
      const engine = await this.#Engine.load(this.#source, {
        ...this.#options,
        signal: work.signal,
        onProgress: (progress) => {
          this.progress = progress;
          if (!work.signal.aborted) this.#listener.onProgress(progress);
        },
      });
      if (work.signal.aborted) return void engine.close();
      this.#take(engine, true);
    } catch (error) {
      if (!work.signal.aborted) this.#fail(/** @type {Error} */ (error));
    }
  }

  /** After an error. What was never looked at is looked at first: nothing is downloaded without consent. */
  retry() {
    return this.plan ? this.accept() : this.open(this.#source, this.#options, this.#ask);
  }

  /** What has come stays on this device; accept() goes on from there. */
  pause() {
    if (this.phase !== 'loading') return;
    this.#work?.abort();
    this.#enter('paused');
  }

  decline() {
    this.#work?.abort();
    this.#enter('declined');
  }

  /**
   * Uses an engine of the caller's, which stays the caller's to close.
   * @param {Engine} engine
   */
  async use(engine) {
    const work = this.#renew();
    await this.#release();
    if (!work.signal.aborted) this.#take(engine, false);
  }

  /** Another model is on its way from now on: what the one before it was about ends. */
  #renew() {
    this.#work?.abort();
    this.#work = new AbortController();
    this.#enter('looking');
    return this.#work;
  }

  /**
   * @param {Engine} engine
   * @param {boolean} own
   */
  #take(engine, own) {
    this.engine = engine;
    this.#ownsEngine = own;
    this.#enter('ready');
    if (this.#waiting) this.#run();
  }

  /** Ends what runs and frees the model; the turns stay. */
  async close() {
    this.#work?.abort();
    this.#work = null;
    await this.#release();
  }

  async #release() {
    const { engine } = this;
    await this.#halt();
    this.engine = null;
    this.plan = null;
    this.progress = null;
    if (engine && this.#ownsEngine) await engine.close().catch(() => {});
  }

  // ---- the conversation

  /** Whether a message can be taken: now, or as soon as the model has come. */
  get takesMessages() {
    return !this.#waiting && ['ready', 'loading', 'looking'].includes(this.phase);
  }

  /**
   * Adds a message and has it answered.
   * @param {string} text
   * @param {number} [at] the turn that it takes the place of, with all that came after it
   */
  send(text, at = this.turns.length) {
    if (!this.takesMessages) return false;
    this.turns.splice(at, Infinity, { role: 'user', content: text });
    this.#listener.onTurn(at);
    if (this.phase === 'ready') this.#run();
    else this.#waiting = true;
    return true;
  }

  /** Answers the last message once more. */
  regenerate() {
    const last = this.turns.length - 1;
    if (this.phase !== 'ready' || this.turns[last]?.role !== 'assistant') return;
    this.turns.splice(last, 1);
    this.#listener.onTurn(last);
    this.#run();
  }

  /** Goes on with an answer that was cut off or stopped. */
  goOn() {
    const last = this.turns[this.turns.length - 1];
    if (this.phase === 'ready' && last?.role === 'assistant') this.#run(last);
  }

  /** Ends the answer; what there is of it stays. */
  async stop() {
    this.#waiting = false;
    await this.#halt();
  }

  async #halt() {
    await this.#chunks?.return?.();
    await this.#answer;
  }

  async clear() {
    await this.stop();
    this.turns = [];
    this.used = 0;
    this.#listener.onTurn(0);
  }

  /** @param {Turn} [turn] an answer to go on with */
  #run(turn) {
    this.#waiting = false;
    const answer = turn ?? { role: /** @type {const} */ ('assistant'), content: '' };
    if (!turn) {
      this.turns.push(answer);
      this.#listener.onTurn(this.turns.length - 1);
    }
    answer.finish = answer.error = answer.result = undefined;
    this.#enter('answering');
    this.#answer = this.#make(answer).then(
      (result) => this.#finish(answer, result),
      (error) => this.#break(answer, error),
    );
  }

  /** @param {Turn} answer */
  #begin(answer) {
    const engine = /** @type {Engine} */ (this.engine);
    const onProgress = (/** @type {Progress} */ progress) => this.#listener.onReading(progress);
    const settings = { ...this.settings, onProgress };
    if (!this.chats) {
      const user = this.turns[this.turns.length - 2];
      return engine.generate((user?.content ?? '') + answer.content, settings);
    }
    /** @type {Message[]} */
    const messages = this.turns
      .filter((turn) => turn !== answer || turn.content)
      .map(({ role, content }) => ({ role, content }));
    if (this.system) messages.unshift({ role: 'system', content: this.system });
    const going = answer.content !== '' && { continue_final_message: true };
    return engine.chat(messages, { truncate: 'oldest-turns', ...settings, ...going });
  }

  /**
   * @param {Turn} answer
   * @returns {Promise<Result>}
   */
  async #make(answer) {
    const generation = this.#begin(answer);
    const chunks = generation[Symbol.asyncIterator]();
    this.#chunks = chunks;
    for (;;) {
      const { done, value } = await chunks.next();
      if (done) break;
      if (value.index === 0) answer.content += value.text;
      this.#listener.onChunk(value);
    }
    return generation.result;
  }

  /**
   * @param {Turn} answer
   * @param {Result} result
   */
  #finish(answer, result) {
    const { usage, timings, sequences, notes } = result;
    this.#chunks = null;
    answer.finish = sequences[0].finish_reason;
    answer.notes = notes;
    answer.result = result;
    this.used = usage.prompt_tokens + usage.completion_tokens;
    this.speed =
      usage.completion_tokens > 1 && timings.decode > 0 ? ((usage.completion_tokens - 1) * 1000) / timings.decode : 0;
    this.#end(answer);
  }

  /**
   * @param {Turn} answer
   * @param {Error} error
   */
  #break(answer, error) {
    this.#chunks = null;
    this.error = error;
    answer.error = error.message;
    answer.finish = 'error';
    const gone = /** @type {{ code?: string }} */ (error).code;
    if (gone === 'closed' || gone === 'internal') this.engine = null;
    this.#end(answer);
  }

  /** @param {Turn} answer */
  #end(answer) {
    this.#listener.onEnd(answer);
    if (this.phase === 'answering') this.#enter(this.engine ? 'ready' : 'failed');
  }
}
