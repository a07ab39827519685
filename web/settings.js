/**
 * The settings of an answer: one number field for each, by the name that the API gives it. An empty field leaves the
 * choice to the model's own generation_config.json.
 */
import { make } from './dom.js';

/** @type {Array<{ name: string, hint: string, min?: number, max?: number, step: string, value?: string }>} */
const FIELDS = [
  { name: 'temperature', hint: '0 takes the likeliest token', min: 0, max: 10, step: 'any', value: '0.7' },
  { name: 'top_p', hint: 'likeliest tokens up to this sum', min: 0, max: 1, step: 'any', value: '0.9' },
  { name: 'top_k', hint: 'as many likeliest tokens', min: 0, step: '1' },
  { name: 'min_p', hint: 'part of the likeliest one', min: 0, max: 1, step: 'any' },
  { name: 'repetition_penalty', hint: '1 is none', min: 0.01, step: 'any' },
  { name: 'max_new_tokens', hint: 'length of an answer', min: 1, step: '1', value: '512' },
  { name: 'seed', hint: 'the same seed, the same answer', min: 0, max: 2 ** 32 - 1, step: '1' },
];

const OF_SAMPLING = ['temperature', 'top_p', 'top_k', 'min_p'];

export class Settings {
  /** @type {Map<string, HTMLInputElement>} */
  #inputs = new Map();

  /** @param {HTMLElement} parent */
  constructor(parent) {
    for (const field of FIELDS) {
      const input = make('input', '');
      input.id = `setting-${field.name}`;
      input.type = 'number';
      input.inputMode = field.step === '1' ? 'numeric' : 'decimal';
      input.step = field.step;
      if (field.min !== undefined) input.min = String(field.min);
      if (field.max !== undefined) input.max = String(field.max);
      const hint = make('span', 'hint', field.hint);
      hint.id = `${input.id}-hint`;
      input.setAttribute('aria-describedby', hint.id);
      const label = make('label', '', field.name);
      label.htmlFor = input.id;
      parent.append(make('div', '', label, input, hint));
      this.#inputs.set(field.name, input);
    }
    this.reset();
  }

  reset() {
    for (const { name, value } of FIELDS) /** @type {HTMLInputElement} */ (this.#inputs.get(name)).value = value ?? '';
  }

  /**
   * Shows in the empty fields what the model's own file says.
   * @param {import('../js/index.js').GenerationSettings} own
   */
  showDefaults(own) {
    for (const [name, input] of this.#inputs) {
      const value = /** @type {Record<string, unknown>} */ (own)[name];
      input.placeholder = typeof value === 'number' ? `model: ${value}` : name === 'seed' ? 'random' : 'default';
    }
  }

  /** The first field with something else than a number in its range, or null. */
  get invalid() {
    return [...this.#inputs.values()].find((input) => !input.checkValidity()) ?? null;
  }

  /** Settings as generate() and chat() take them. */
  read() {
    /** @type {Record<string, number | boolean>} */
    const settings = {};
    for (const [name, input] of this.#inputs) if (input.value !== '') settings[name] = input.valueAsNumber;
    if ('temperature' in settings) settings.do_sample = settings.temperature !== 0;
    // Where nothing is drawn, the settings of the drawing would only bring remarks that they have no effect.
    if (settings.temperature === 0) for (const name of OF_SAMPLING) delete settings[name];
    return settings;
  }
}
