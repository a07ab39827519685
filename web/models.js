/**
 * Which model is loaded, and the way to another one: its headers are read first (that catches a wrong file and tells the
 * sizes), a download begins only when the visitor has seen its size, and the model at hand stays until the new one is
 * there, unless both would not fit.
 */
import { byId, countOf, make, sizeOf, storage } from './dom.js';
import { Engine } from './engine.js';

/** @typedef {import('../js/index.js').Engine} LoadedEngine */
/** @typedef {import('../js/index.js').ModelSource} ModelSource */
/** @typedef {import('../js/index.js').LoadOptions} LoadOptions */
/**
 * @typedef {object} Offer
 * @property {string} label
 * @property {ModelSource} source
 * @property {boolean} [local] Files of this device: nothing is downloaded.
 * @property {LoadOptions} [options]
 */

const BUNDLED = 'models/austen-tiny-q8_0.gguf';
const MANIFEST = 'models/manifest.json';

/** A model at hand with more memory than this is closed before another one is loaded. */
const KEEP_WHILE_LOADING_BYTES = 128e6;
/** Loads above this size are remembered until they end: a browser may close the page over them. */
const RISKY_BYTES = 256e6;
const UNFINISHED = 'qwen2-demo-unfinished-load';

/**
 * Hides a part of the page; the focus that it may hold goes on to another element instead of being lost.
 * @param {string} id
 * @param {HTMLElement} next
 */
function hide(id, next) {
  const part = byId(id);
  const held = part.contains(document.activeElement);
  part.hidden = true;
  if (held) next.focus();
}

const state = byId('model-state');
const bar = byId('loading-bar', HTMLProgressElement);
const again = byId('model-again', HTMLButtonElement);
const kept = storage('localStorage');

export class ModelPanel {
  #announcer;
  #onEngine;
  /** @type {LoadedEngine | null} */
  #engine = null;
  /** @type {AbortController | null} */
  #work = null;
  /** @type {Offer} */
  #offered = { label: 'austen-tiny', source: BUNDLED };
  /** @type {Offer} What is loaded, or was. */
  #current = this.#offered;

  /**
   * @param {object} parts
   * @param {import('./dom.js').Announcer} parts.announcer
   * @param {(engine: LoadedEngine | null, name: string) => Promise<void>} parts.onEngine Called before the engine at hand is closed.
   */
  constructor({ announcer, onEngine }) {
    this.#announcer = announcer;
    this.#onEngine = onEngine;
    byId('use-bundled').addEventListener('click', () => this.loadBundled());
    byId('url-form').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#considerUrl();
    });
    const files = byId('files', HTMLInputElement);
    files.addEventListener('change', () => {
      if (files.files?.length) void this.considerFiles([...files.files]);
      files.value = '';
    });
    byId('loading-cancel').addEventListener('click', () => this.#work?.abort());
    byId('offer-accept').addEventListener('click', () => this.#load(this.#offered));
    byId('offer-decline').addEventListener('click', () => {
      hide('offer', byId('choice-title'));
    });
    again.addEventListener('click', () => this.#consider(this.#current));
  }

  /** Loads what the page brings along. */
  async start() {
    const unfinished = kept.get(UNFINISHED);
    kept.set(UNFINISHED, null);
    this.#offerKnown().catch(() => {});
    await this.loadBundled();
    if (!unfinished) return;
    const advice = 'If the browser ran out of memory, choose a shorter context or a smaller model.';
    this.showError(`Loading ${unfinished} did not come to an end last time. ${advice}`);
  }

  loadBundled() {
    return this.#load({ label: 'austen-tiny', source: BUNDLED });
  }

  /** @param {File[]} files */
  considerFiles(files) {
    if (!files.length) return this.showError('There is no model file in what was dropped.');
    const label = files.length === 1 ? files[0].name : `${files[0].name} and ${files.length - 1} more`;
    return this.#consider({ label, source: files.length === 1 ? files[0] : files, local: true });
  }

  /** @param {string} message */
  showError(message) {
    byId('model-error').hidden = false;
    byId('model-error-text').textContent = message;
    again.hidden = this.#engine !== null || this.#work !== null;
    again.textContent = `Load ${this.#current.label} again`;
  }

  /**
   * The engine does not answer any more.
   * @param {Error} error
   */
  async lost(error) {
    await this.#retire();
    this.showError(`The model has stopped working: ${error.message}`);
  }

  /** Offers the model that the site's manifest names: a copy on this site goes before its home. */
  async #offerKnown() {
    const response = await fetch(MANIFEST);
    if (!response.ok) return;
    const { name, files } = await response.json();
    const [{ name: file, bytes, sha256 }] = files;
    const button = byId('use-known');
    button.textContent = `${name} (${sizeOf(bytes)})`;
    button.hidden = false;
    button.addEventListener('click', async () => {
      const copy = new URL(file, response.url).href;
      const here = await fetch(copy, { method: 'HEAD' }).catch(() => null);
      const source = here?.ok ? copy : response.url;
      await this.#consider({ label: name, source, options: here?.ok ? { sha256 } : {} });
    });
  }

  #considerUrl() {
    const text = byId('url', HTMLInputElement).value.trim();
    if (!URL.canParse(text, document.baseURI) || !text) return this.showError(`"${text}" is not an address.`);
    const url = new URL(text, document.baseURI);
    return this.#consider({ label: url.pathname.split('/').filter(Boolean).pop() ?? url.host, source: url.href });
  }

  /** @returns {LoadOptions | null} null where a field holds nonsense. */
  #loadOptions() {
    /** @type {LoadOptions} */
    const options = {};
    for (const name of /** @type {const} */ (['contextLength', 'threads'])) {
      const input = byId(name, HTMLInputElement);
      if (!input.reportValidity()) return null;
      if (input.value !== '') options[name] = input.valueAsNumber;
    }
    return options;
  }

  /**
   * Runs one piece of work with its Cancel button; a new one ends the one before.
   * @template T
   * @param {string} text
   * @param {(signal: AbortSignal) => Promise<T>} task
   * @returns {Promise<T | undefined>} undefined after an error, which is shown, and where it was cancelled.
   */
  async #working(text, task) {
    this.#work?.abort();
    const work = new AbortController();
    this.#work = work;
    byId('model-error').hidden = true;
    byId('loading').hidden = false;
    this.#showProgress(text);
    hide('offer', byId('loading-cancel'));
    try {
      const value = await task(work.signal);
      if (!work.signal.aborted) return value;
    } catch (/** @type {any} */ error) {
      if (this.#work === work) this.#work = null;
      if (!work.signal.aborted) this.showError(error.message);
      else if (!this.#engine && !this.#work) this.showError('Loading was cancelled.');
    } finally {
      if (this.#work === work) this.#work = null;
      if (!this.#work) hide('loading', byId('choice-title'));
    }
  }

  /**
   * @param {string} text
   * @param {number} [part] 0 to 1; left out: unknown.
   */
  #showProgress(text, part) {
    byId('loading-text').textContent = text;
    if (part === undefined) bar.removeAttribute('value');
    else bar.value = part;
  }

  /**
   * Reads the headers; then loads, or asks first where there is something to download.
   * @param {Offer} offer
   */
  async #consider(offer) {
    const options = this.#loadOptions();
    if (!options) return;
    const look = (/** @type {AbortSignal} */ signal) => Engine.plan(offer.source, { ...options, signal });
    const plan = await this.#working(`Looking at ${offer.label}`, look);
    if (!plan) return;
    const need = `${sizeOf(plan.peakBytes)} of memory`;
    const ready = { ...offer, options: { ...offer.options, ...options }, peakBytes: plan.peakBytes };
    if (!plan.fits) this.showError(`${offer.label} needs ${need} and does not fit. ${plan.advice.join(' ')}`);
    else if (offer.local || !plan.downloadBytes) await this.#load(ready);
    else this.#showOffer(ready, `${offer.label}: ${sizeOf(plan.downloadBytes)} to download, ${need}.`);
  }

  /**
   * @param {Offer} offer
   * @param {string} text
   */
  #showOffer(offer, text) {
    this.#offered = offer;
    byId('offer-text').textContent = text;
    byId('offer').hidden = false;
    if (document.activeElement === document.body || byId('model').contains(document.activeElement))
      byId('offer-accept').focus();
    else this.#announcer.say(text);
  }

  /** @param {Offer & { peakBytes?: number }} offer */
  #load(offer) {
    const verb = offer.local ? 'Reading' : 'Downloading';
    return this.#working(`Loading ${offer.label}`, async (signal) => {
      if (this.#engine && this.#engine.info.memoryBytes > KEEP_WHILE_LOADING_BYTES) await this.#retire();
      if ((offer.peakBytes ?? 0) > RISKY_BYTES) kept.set(UNFINISHED, offer.label);
      this.#announcer.say(`Loading ${offer.label}.`);
      try {
        const engine = await Engine.load(offer.source, {
          ...offer.options,
          signal,
          onProgress: ({ phase, loaded, total }) => {
            const what = `${phase === 'cache' ? 'Reading' : verb} ${offer.label}`;
            const text = `${what}: ${sizeOf(loaded)}${total ? ` of ${sizeOf(total)}` : ''}`;
            this.#showProgress(text, total ? loaded / total : undefined);
          },
        });
        await this.#replace(engine, offer);
      } finally {
        kept.set(UNFINISHED, null);
      }
    });
  }

  #showNone() {
    state.textContent = 'No model is loaded.';
    byId('model-notes').hidden = true;
  }

  async #retire() {
    const old = this.#engine;
    this.#engine = null;
    this.#showNone();
    await this.#onEngine(null, '');
    await old?.close().catch(() => {});
  }

  /**
   * @param {LoadedEngine} engine
   * @param {Offer} offer
   */
  async #replace(engine, offer) {
    const old = this.#engine;
    this.#engine = engine;
    this.#current = offer;
    const { info } = engine;
    const name = info.name || offer.label;
    const threads = info.threads === 1 ? 'one thread' : `${info.threads} threads`;
    const simd = info.simd === 'relaxed' ? 'relaxed SIMD' : 'base SIMD';
    const facts = [`${countOf(info.parameters)} parameters`, `context of ${info.contextLength} tokens`, threads, simd];
    facts.push(`${sizeOf(info.memoryBytes)} of memory`);
    state.replaceChildren(make('strong', '', name), `: ${facts.join(', ')}.`);
    byId('model-notes').replaceChildren(...info.notes.map((note) => make('li', '', note)));
    byId('model-notes').hidden = !info.notes.length;
    await this.#onEngine(engine, name);
    await old?.close().catch(() => {});
    this.#announcer.say(`${name} is ready.`);
  }
}
