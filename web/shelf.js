/**
 * The shelf: which models there are, what each costs, and the one in use. A model's headers are read before anything else (that
 * catches a wrong file and tells the sizes); the model at hand stays until another one was looked at and asked for.
 */
import { button, byId, make, panel, sizeOf, storage } from './dom.js';
import { Engine, modelCache } from './engine.js';

/** @typedef {import('../js/index.js').ModelSource} ModelSource */
/** @typedef {import('../js/index.js').LoadOptions} LoadOptions */
/**
 * @typedef {object} Offer
 * @property {string} label
 * @property {ModelSource} source
 * @property {LoadOptions} [options]
 * @property {boolean} [local] files of this device: nothing is downloaded
 * @property {number} [peakBytes]
 *
 * bytes, memory: what it takes, to be told before its host is asked; memory at a context of 4096 tokens.
 * @typedef {{ label: string, what: string, bytes: number, memory: number, offer: () => Promise<Offer> }} Card
 */

const MANIFEST = 'models/manifest.json';
const BUNDLED = { label: 'Austen Tiny', source: 'models/austen-tiny-q8_0.gguf' };

/** Loads above this size are remembered until they end: a browser may close the page over them. */
const RISKY_BYTES = 256e6;
const UNFINISHED = 'qwen2-demo-unfinished-load';
const CHOSEN = 'qwen2-demo-model';

/**
 * @param {string} label
 * @param {string} repo
 */
const fromHub = (label, repo) => async () => ({
  label,
  source: { repo: `Qwen/${repo}-GGUF`, file: `${repo.toLowerCase()}-q4_k_m.gguf` },
});

/** The coder that the site's manifest names: a copy on this site goes before its home. @returns {Promise<Offer>} */
async function coder() {
  const response = await fetch(MANIFEST);
  if (!response.ok) throw new Error(`${MANIFEST} cannot be had: status ${response.status}`);
  const { name, files } = await response.json();
  const [{ name: file, sha256 }] = files;
  const copy = new URL(file, response.url).href;
  const here = await fetch(copy, { method: 'HEAD' }).catch(() => null);
  return here?.ok ? { label: name, source: copy, options: { sha256 } } : { label: name, source: response.url };
}

/** @type {Card[]} */
const CARDS = [
  {
    label: 'Austen Tiny',
    what: '5 M parameters, part of this page. Goes on in the manner of Jane Austen and knows nothing.',
    bytes: 5.8e6,
    memory: 19e6,
    offer: async () => BUNDLED,
  },
  {
    label: 'Qwen2.5-Coder-0.5B-Instruct',
    what: 'Answers, writes code, completes code in the editor.',
    bytes: 491e6,
    memory: 610e6,
    offer: coder,
  },
  {
    label: 'Qwen2.5-0.5B-Instruct',
    what: 'Answers in many languages.',
    bytes: 491e6,
    memory: 610e6,
    offer: fromHub('Qwen2.5-0.5B-Instruct', 'Qwen2.5-0.5B-Instruct'),
  },
  {
    label: 'Qwen2.5-1.5B-Instruct',
    what: 'Answers better and takes three times as long; for machines with memory to spare.',
    bytes: 1117e6,
    memory: 1400e6,
    offer: fromHub('Qwen2.5-1.5B-Instruct', 'Qwen2.5-1.5B-Instruct'),
  },
];

const kept = storage('localStorage');

export class Shelf {
  #chat;
  #panel;
  /** @type {AbortController | null} */
  #work = null;

  /** @param {import('../js/element.js').QwenChatElement} chat */
  constructor(chat) {
    this.#chat = chat;
    this.#panel = panel('models', () => void this.#showKept());
    byId('shelf').append(...CARDS.map((card) => this.#card(card)));
    byId('url-form').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#takeUrl();
    });
    for (const id of ['files', 'folder']) {
      const input = byId(id, HTMLInputElement);
      input.addEventListener('change', () => {
        const files = [...(input.files ?? [])];
        input.value = '';
        if (files.length) void this.takeFiles(files);
      });
    }
  }

  open() {
    this.#panel.open();
  }

  /** Uses what was chosen at an earlier visit, else what the page brings along. */
  start() {
    const unfinished = kept.get(UNFINISHED);
    kept.set(UNFINISHED, null);
    const chosen = unfinished ? null : kept.get(CHOSEN);
    this.#use(chosen ?? BUNDLED, chosen !== null);
    if (!unfinished) return;
    const advice = 'If the browser ran out of memory, choose a shorter context or a smaller model.';
    this.fail(`Loading ${unfinished} did not come to an end last time. ${advice}`);
  }

  /** A load has come to an end. @returns {boolean} */
  settled() {
    kept.set(UNFINISHED, null);
    return true;
  }

  /** @param {string} message */
  fail(message) {
    this.open();
    byId('model-error').hidden = false;
    byId('model-error').textContent = message;
  }

  /** @param {Card} card */
  #card(card) {
    const cost = make('p', 'cost', `${sizeOf(card.bytes)} to download, about ${sizeOf(card.memory)} of memory`);
    const buttons = make('div', 'row');
    const name = make('h3', '', card.label);
    const choose = button('Look at it', async () => {
      const offer = await this.#try(card.offer, card.label);
      if (offer) await this.#look(offer, cost, buttons);
    });
    if (card.bytes < 10e6) choose.textContent = 'Use it';
    choose.setAttribute('aria-label', `${choose.textContent}: ${card.label}`);
    buttons.append(choose);
    return make('li', 'card', name, make('p', '', card.what), cost, buttons);
  }

  /** @param {File[]} files */
  takeFiles(files) {
    if (!files.length) return this.fail('There is no model file in what was dropped.');
    const label = files.length === 1 ? files[0].name : `${files[0].name} and ${files.length - 1} more`;
    return this.#find({ label, source: files.length === 1 ? files[0] : files, local: true });
  }

  #takeUrl() {
    const text = byId('url', HTMLInputElement).value.trim();
    if (!URL.canParse(text, document.baseURI) || !text) return this.fail(`"${text}" is not an address.`);
    const url = new URL(text, document.baseURI);
    return this.#find({ label: url.pathname.split('/').filter(Boolean).pop() ?? url.host, source: url.href });
  }

  /** Looks at what is on no card. @param {Offer} offer */
  #find(offer) {
    const cost = make('p', 'cost');
    const buttons = make('div', 'row');
    byId('found').replaceChildren(make('h3', '', offer.label), cost, buttons);
    return this.#look(offer, cost, buttons);
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
   * A step towards a model; a new one ends the one before. null after an error, which is shown.
   * @template T
   * @param {(signal: AbortSignal) => Promise<T>} task
   * @param {string} label
   * @returns {Promise<T | null>}
   */
  async #try(task, label) {
    this.#work?.abort();
    const work = (this.#work = new AbortController());
    byId('model-error').hidden = true;
    try {
      const value = await task(work.signal);
      return work.signal.aborted ? null : value;
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      if (!work.signal.aborted) this.fail(message.includes(label) ? message : `${label}: ${message}`);
      return null;
    }
  }

  /**
   * Reads the headers; then uses the model, or offers its download.
   * @param {Offer} offer
   * @param {HTMLElement} cost where it is told
   * @param {HTMLElement} buttons where it can be accepted
   */
  async #look(offer, cost, buttons) {
    const options = this.#loadOptions();
    if (!options) return;
    const before = cost.textContent;
    cost.textContent = `Looking at ${offer.label} …`;
    byId('found').hidden = !byId('found').contains(cost);
    const plan = await this.#try(
      (signal) => Engine.plan(offer.source, { ...offer.options, ...options, signal }),
      offer.label,
    );
    cost.textContent = before;
    byId('found').hidden ||= !plan;
    if (!plan) return;
    const ready = { ...offer, options: { ...offer.options, ...options }, peakBytes: plan.peakBytes };
    const need = `${sizeOf(plan.peakBytes)} of memory`;
    if (!plan.fits) return this.fail(`${offer.label} needs ${need} and does not fit. ${plan.advice.join(' ')}`);
    if (offer.local || !plan.downloadBytes || offer.source === BUNDLED.source) return this.#choose(ready);
    const room = plan.storageBytes === null ? '' : ` ${sizeOf(plan.storageBytes)} of storage is free.`;
    cost.textContent = `${sizeOf(plan.downloadBytes)} to download, ${need}: it fits here.${room}`;
    const accept = button(`Download ${sizeOf(plan.downloadBytes)} and use it`, () => this.#choose(ready));
    accept.className = 'primary accept';
    buttons.replaceChildren(accept);
    accept.focus();
  }

  /** @param {Offer} offer */
  #choose(offer) {
    byId('found').hidden = true;
    this.#panel.close();
    this.#use(offer, false);
    this.#chat.focus();
  }

  /**
   * @param {Offer} offer
   * @param {boolean} ask whether a download is to be asked for
   */
  #use(offer, ask) {
    const { label, source, options = {}, peakBytes = 0 } = offer;
    const plain = typeof source === 'string' || (typeof source === 'object' && 'repo' in source);
    kept.set(CHOSEN, plain && source !== BUNDLED.source ? { label, source, options, peakBytes } : null);
    if (peakBytes > RISKY_BYTES && !ask) kept.set(UNFINISHED, label);
    if (ask) this.#chat.removeAttribute('consent');
    else this.#chat.setAttribute('consent', 'never');
    this.#chat.loadOptions = options;
    this.#chat.source = source;
  }

  async #showKept() {
    const list = byId('kept');
    const entries = await modelCache.list().catch(() => []);
    const lines = entries.map(({ key, name, bytes, complete }) => {
      const remove = button('Delete', async () => {
        await modelCache.delete(key).catch((error) => this.fail(error.message));
        await this.#showKept();
        list.querySelector('button')?.focus();
      });
      remove.setAttribute('aria-label', `Delete ${name}`);
      return make('li', 'row', `${name}, ${sizeOf(bytes)}${complete ? '' : ', not whole'}`, remove);
    });
    list.replaceChildren(...(lines.length ? lines : [make('li', '', 'Nothing.')]));
  }
}
