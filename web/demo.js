/**
 * The demo page: it loads the bundled model at once, talks with it, and takes any other Qwen2 model in its place. Uses
 * nothing of the package but its public API.
 */
import { Conversation } from './conversation.js';
import { Announcer, byId, make, storage } from './dom.js';
import { capabilities } from './engine.js';
import { takeDrops } from './files.js';
import { ModelPanel } from './models.js';
import { Settings } from './settings.js';

const DRAFT = 'qwen2-demo-draft';

/** Half-typed text survives a reload, as the one that turns threads on. */
function keepDraft() {
  const kept = storage('sessionStorage');
  const prompt = byId('prompt', HTMLTextAreaElement);
  prompt.value = kept.get(DRAFT) ?? '';
  kept.set(DRAFT, null);
  window.addEventListener('pagehide', () => kept.set(DRAFT, prompt.value || null));
}

/** Says what this browser lacks here, and offers the way to threads where the page itself can open it. */
async function showAbilities() {
  const { notes, threads } = await capabilities();
  if (!notes.length) return;
  const isolation = /** @type {any} */ (window).qwen2Isolation;
  const enable = byId('threads-enable', HTMLButtonElement);
  const list = byId('threads-notes');
  list.append(...notes.map((note) => make('li', '', note)));
  byId('threads-notice').hidden = false;
  if (threads || !isolation || window.crossOriginIsolated) return;
  const why = isolation.unavailable;
  if (why) list.append(make('li', '', `This page cannot turn threads on by itself: ${why}.`));
  enable.hidden = why !== null;
  enable.addEventListener('click', () => {
    enable.disabled = true;
    isolation.enable().catch((/** @type {Error} */ error) => {
      enable.hidden = true;
      list.append(make('li', '', `Threads could not be turned on: ${error.message}.`));
    });
  });
}

let asked = false;

/** Lets the next visit do without the network; not before the model is there, which is what the visitor waits for. */
function keepPage() {
  if (asked) return;
  asked = true;
  /** @type {any} */ (window).qwen2Isolation?.keep().catch(() => {}); // this visit works without
}

const announcer = new Announcer(byId('announcer'));
const settings = new Settings(byId('settings-fields'), byId('settings-rest'));
const conversation = new Conversation({ settings, announcer, onLost: (error) => panel.lost(error) });
const panel = new ModelPanel({
  announcer,
  async onEngine(engine, name) {
    await conversation.setEngine(engine, name);
    if (!engine) return;
    settings.showDefaults(engine.info.generationConfig);
    keepPage();
  },
});

byId('settings-reset').addEventListener('click', () => settings.reset());
takeDrops(
  (files) => panel.considerFiles(files),
  (error) => panel.showError(`What was dropped cannot be read: ${/** @type {Error} */ (error).message}`),
);
keepDraft();
byId('boot').hidden = true;
byId('model').hidden = false;
byId('talk').hidden = false;
showAbilities().catch((error) => panel.showError(error.message));
void panel.start();
