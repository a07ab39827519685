/**
 * The form of all settings, made from the package's own table: a labelled field for each, by the name that the API gives it.
 * An empty field leaves the setting out, so that the model's own generation_config.json decides. What a value means, and
 * whether it makes sense, is the engine's to say: its words are shown at the field that they name.
 */
import { make, storage } from './dom.js';
import { GROUPS, SETTINGS } from './engine.js';

/** @typedef {import('../js/settings.js').Setting} Setting */
/** @typedef {import('../js/settings.js').SettingGroup} SettingGroup */

/** What stands before all others, and with which value. */
const COMMON = {
  temperature: '0.7',
  top_p: '0.9',
  top_k: '',
  min_p: '',
  repetition_penalty: '',
  max_new_tokens: '512',
  seed: '',
  stop_strings: '',
};

/** What is written in the fields, until the tab is closed. */
const WRITTEN = 'qwen2-demo-settings';

/** Without effect where nothing is drawn: there they would only bring remarks that say so. */
const OF_SAMPLING = ['temperature', 'top_p', 'top_k', 'min_p', 'typical_p', 'epsilon_cutoff', 'eta_cutoff'];

/** What is written in a field is no value of its kind. */
class FieldError extends Error {
  /**
   * @param {string} name
   * @param {string} message
   */
  constructor(name, message) {
    super(`${name} ${message}`);
    this.field = name;
  }
}

export class Settings {
  /** @type {Map<string, Field>} */
  #fields = new Map();
  #kept = storage('sessionStorage');

  /**
   * @param {HTMLElement} common
   * @param {HTMLElement} rest
   */
  constructor(common, rest) {
    for (const name of Object.keys(COMMON)) common.append(this.#make(name));
    for (const [group, title] of Object.entries(GROUPS)) {
      const names = Object.keys(SETTINGS).filter((name) => SETTINGS[name].group === group && !(name in COMMON));
      const fields = names.map((name) => this.#make(name));
      rest.append(make('fieldset', 'grid', make('legend', '', title), ...fields));
    }
    const written = this.#kept.get(WRITTEN);
    this.reset();
    for (const [name, text] of Object.entries(written ?? {})) this.#fields.get(name)?.set(String(text));
  }

  /** @param {string} name */
  #make(name) {
    const field = new Field(name, SETTINGS[name]);
    this.#fields.set(name, field);
    return field.element;
  }

  reset() {
    const values = /** @type {Record<string, string>} */ (COMMON);
    for (const [name, field] of this.#fields) field.set(values[name] ?? '');
    this.#kept.set(WRITTEN, null);
  }

  /**
   * Shows in the empty fields what the model's own file says.
   * @param {import('../js/index.js').GenerationSettings} own
   */
  showDefaults(own) {
    for (const [name, field] of this.#fields) field.showDefault(/** @type {Record<string, unknown>} */ (own)[name]);
  }

  /**
   * Settings as chat() takes them, or generate(). null where a field holds something else than its kind of value, which is told
   * there.
   * @param {boolean} chat
   * @returns {Record<string, unknown> | null}
   */
  read(chat) {
    this.#kept.set(WRITTEN, Object.fromEntries([...this.#fields].map(([name, field]) => [name, field.text])));
    try {
      return this.#values(chat);
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      this.#fields.get(error.field)?.fail(error.message);
      return null;
    }
  }

  /** @param {boolean} chat */
  #values(chat) {
    /** @type {Record<string, unknown>} */
    const settings = {};
    for (const [name, field] of this.#fields) {
      const value = chat || SETTINGS[name].group !== 'chat' ? field.read() : undefined;
      if (value !== undefined) settings[name] = value;
    }
    if ('do_sample' in settings || !('temperature' in settings)) return settings;
    settings.do_sample = settings.temperature !== 0;
    if (!settings.do_sample) for (const name of OF_SAMPLING.slice(1)) delete settings[name];
    return settings;
  }

  /**
   * Shows an error at the field that it speaks of, if it speaks of one.
   * @param {Error & { code?: string }} error
   * @returns {HTMLElement | null} the field's input
   */
  blame(error) {
    const words = error.code === 'usage' ? (error.message.match(/\w+/g) ?? []) : [];
    const field = words.map((word) => this.#fields.get(word)).find((found) => found && !found.empty);
    return field?.fail(error.message) ?? null;
  }
}

/** A setting's label, its input, and what is said about it. */
class Field {
  #name;
  #setting;
  /** @type {HTMLInputElement | HTMLSelectElement} */
  #input;
  #fault = make('span', 'fault');

  /**
   * @param {string} name
   * @param {Setting} setting
   */
  constructor(name, setting) {
    this.#name = name;
    this.#setting = setting;
    this.#input = this.#control();
    this.#input.id = `setting-${name}`;
    this.#fault.id = `${this.#input.id}-fault`;
    this.#fault.hidden = true;
    const form = setting.kind === 'strings' ? ': one as it is, or JSON: ["\\n", "END"]' : '';
    const hint = make('span', 'hint', setting.hint + form);
    hint.id = `${this.#input.id}-hint`;
    this.#input.setAttribute('aria-describedby', `${hint.id} ${this.#fault.id}`);
    this.#input.addEventListener('input', () => this.#clear());
    const label = make('label', '', name);
    label.htmlFor = this.#input.id;
    this.element = make('div', this.#isLong ? 'wide' : '', label, this.#input, hint, this.#fault);
  }

  get #isLong() {
    return ['json', 'ids', 'strings', 'text'].includes(this.#setting.kind);
  }

  #control() {
    const { kind, choices = ['true', 'false'] } = this.#setting;
    if (kind === 'boolean' || kind === 'choice') {
      const select = make('select', '');
      for (const value of ['', ...choices]) select.append(new Option(value || 'default', value));
      return select;
    }
    const input = make('input', '');
    input.autocomplete = 'off';
    if (this.#isLong) {
      input.type = 'text';
      input.spellcheck = false;
      input.autocapitalize = 'off';
    } else {
      input.type = 'number';
      input.step = kind === 'integer' ? '1' : 'any';
      input.inputMode = kind === 'integer' ? 'numeric' : 'decimal';
    }
    return input;
  }

  get empty() {
    return this.#input.value === '' && !this.#input.validity.badInput;
  }

  get text() {
    return this.#input.value;
  }

  /** @param {string} value */
  set(value) {
    this.#input.value = value;
    this.#clear();
  }

  /** @param {unknown} value */
  showDefault(value) {
    const none = { seed: 'random' }[this.#name] ?? 'default';
    const text = value === undefined ? none : `model: ${JSON.stringify(value)}`;
    if (this.#input instanceof HTMLSelectElement) this.#input.options[0].text = text;
    else this.#input.placeholder = text;
  }

  /** @returns {unknown} The value; undefined where the field is empty. */
  read() {
    const { kind } = this.#setting;
    const { value } = this.#input;
    if (this.#input.validity.badInput) throw new FieldError(this.#name, 'is no number');
    if (value.trim() === '') return undefined;
    if (kind === 'text' || kind === 'choice') return value;
    if (kind === 'boolean') return value === 'true';
    if (kind === 'integer' || kind === 'number') return Number(value);
    try {
      return JSON.parse(value);
    } catch (error) {
      if (kind === 'strings' && !/^\s*["[]/.test(value)) return value;
      throw new FieldError(this.#name, `is no JSON: ${/** @type {Error} */ (error).message}`);
    }
  }

  /** @param {string} message */
  fail(message) {
    this.#fault.textContent = message;
    this.#fault.hidden = false;
    this.#input.setAttribute('aria-invalid', 'true');
    for (let part = this.element.parentElement; part; part = part.parentElement)
      if (part instanceof HTMLDetailsElement) part.open = true;
    return this.#input;
  }

  #clear() {
    this.#fault.hidden = true;
    this.#fault.textContent = '';
    this.#input.removeAttribute('aria-invalid');
  }
}
