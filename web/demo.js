/**
 * The demo page: <qwen-chat> with the bundled model at once, a shelf of others, settings, and what this browser can do. Uses
 * nothing of the package but its public API.
 */
import { showAbilities } from './browser.js';
import { byId, countOf, make, panel, sizeOf, storage } from './dom.js';
import { QwenChatElement } from './engine.js';
import { takeDrops } from './files.js';
import { showResult } from './result.js';
import { Settings } from './settings.js';
import { Shelf } from './shelf.js';

const AUSTEN = {
  greeting:
    'This is **Austen Tiny**: 5 million parameters that have read six novels by Jane Austen and nothing else. Give it a ' +
    'beginning and it goes on, within seconds, in her manner. It has no knowledge and answers no questions.',
  suggestions: ['It is a truth universally acknowledged, that', 'My dear Mr. Bennet,', 'The daughter of a clergyman'],
};
const ANSWERS = {
  greeting: 'Ask something. A model of this size is quick and often wrong: check what matters.',
  suggestions: [
    'Write a Python function that tells whether a word is a palindrome.',
    'Explain what a closure is, in three sentences.',
    'Say hello in five languages, as a table.',
  ],
};
/** Of what has been set, until the tab is closed. */
const SYSTEM = 'qwen2-demo-system';

const chat = byId('chat', QwenChatElement);
const system = byId('system', HTMLTextAreaElement);
const settings = new Settings(byId('settings-fields'), byId('settings-rest'));
const settingsPanel = panel('settings');
const shelf = new Shelf(chat);
const kept = storage('sessionStorage');

/** @param {{ greeting: string, suggestions: string[] }} words */
function greet({ greeting, suggestions }) {
  if (chat.getAttribute('greeting') === greeting) return;
  chat.setAttribute('greeting', greeting);
  chat.setAttribute('suggestions', JSON.stringify(suggestions));
}

/** The settings as they are written, from the next message on. */
function applySettings() {
  const taken = settings.read(Boolean(chat.engine?.info.chatTemplate));
  if (taken) chat.settings = taken;
  byId('settings-unused').hidden = taken !== null;
  chat.setAttribute('system', system.value);
  kept.set(SYSTEM, system.value || null);
}

/** Says of the model at hand what it is. @param {import('../js/index.js').ModelInfo} info */
function showModel(info) {
  const threads = info.threads === 1 ? 'one thread' : `${info.threads} threads`;
  const simd = info.simd === 'relaxed' ? 'relaxed SIMD' : 'base SIMD';
  const facts = [`${countOf(info.parameters)} parameters`, `context of ${info.contextLength} tokens`, threads, simd];
  facts.push(`${sizeOf(info.memoryBytes)} of memory`);
  byId('model-state').replaceChildren(make('strong', '', info.name || 'The model'), `: ${facts.join(', ')}.`);
  byId('model-notes').replaceChildren(...info.notes.map((note) => make('li', '', note)));
  byId('model-notes').hidden = !info.notes.length;
  byId('open-models').textContent = info.name || 'Models';
}

function showNone() {
  byId('model-state').textContent = 'No model is loaded.';
  byId('model-notes').hidden = true;
  byId('open-models').textContent = 'Models';
}

let asked = false;

/** Lets the next visit do without the network; not before the model is there, which is what the visitor waits for. */
function keepPage() {
  if (asked) return;
  asked = true;
  /** @type {any} */ (window).qwen2Isolation?.keep().catch(() => {}); // this visit works without
}

/** Another model is here. */
function useEngine() {
  const { engine } = chat;
  if (!engine || !shelf.settled()) return;
  showModel(engine.info);
  settings.showDefaults(engine.info.generationConfig);
  byId('system-field').hidden = engine.info.chatTemplate === null;
  greet(engine.info.chatTemplate === null ? AUSTEN : ANSWERS);
  byId('upgrade').hidden = engine.info.chatTemplate !== null;
  applySettings();
  keepPage();
}

chat.addEventListener('qwen-phase', (event) => {
  const { phase } = /** @type {CustomEvent} */ (event).detail;
  if (phase === 'ready') useEngine();
  else if (phase === 'looking') showNone();
  else if (['paused', 'declined', 'failed'].includes(phase)) shelf.settled();
});
chat.addEventListener('qwen-message', (event) => showResult(/** @type {CustomEvent} */ (event).detail));
chat.addEventListener('qwen-error', (event) => {
  const field = settings.blame(/** @type {CustomEvent} */ (event).detail.error);
  if (!field) return;
  settingsPanel.open();
  field.focus();
});
byId('settings-form').addEventListener('input', applySettings);
byId('settings-form').addEventListener('submit', (event) => event.preventDefault());
byId('settings-reset').addEventListener('click', () => {
  settings.reset();
  applySettings();
});
document.querySelector('.skip')?.addEventListener('click', (event) => {
  event.preventDefault();
  chat.focus();
});
byId('upgrade-open').addEventListener('click', () => shelf.open());
takeDrops(
  (files) => shelf.takeFiles(files),
  (error) => shelf.fail(`What was dropped cannot be read: ${/** @type {Error} */ (error).message}`),
);

system.value = kept.get(SYSTEM) ?? '';
greet(AUSTEN);
applySettings();
byId('boot').hidden = true;
byId('talk').hidden = false;
showAbilities().catch((error) => shelf.fail(error.message));
shelf.start();
