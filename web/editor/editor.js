// Completion at the cursor: the model's own tokens for "fill in the middle", what comes is selected, Tab keeps it.
// @ts-nocheck: an example, to be read
import { Engine } from '../dist/index.js';

const [code, go, state] = ['code', 'go', 'state'].map((id) => document.getElementById(id));
const MODEL = new URLSearchParams(location.search).get('model') ?? '../models/manifest.json';
const SETTINGS = { do_sample: false, max_new_tokens: 64, stop_strings: ['\n\n', '<|fim_pad|>', '<|file_sep|>'] };

code.value ||= 'def fib(n):\n    """The n-th Fibonacci number."""\n    \n\nprint(fib(10))\n';
let engine = null;
let running = null;

const mb = (bytes) => `${Math.round(bytes / 1e6)} MB`;

/** Asks before a download, then loads. */
async function begin() {
  if (!go.dataset.asked) {
    const { downloadBytes, peakBytes } = await Engine.plan(MODEL);
    go.dataset.asked = 'yes';
    go.textContent = downloadBytes ? `Download ${mb(downloadBytes)}` : 'Load it';
    state.textContent = `It needs ${mb(peakBytes)} of memory.`;
    if (downloadBytes) return;
  }
  const onProgress = ({ loaded, total }) => (state.textContent = `${mb(loaded)} of ${mb(total ?? loaded)}`);
  engine = await Engine.load(MODEL, { contextLength: 2048, onProgress });
  state.textContent = 'Ready: Ctrl+Space completes.';
  go.textContent = 'Complete';
  const place = code.value.indexOf('    \n\n') + 4;
  code.focus();
  code.setSelectionRange(place, place);
}

/** Writes what belongs at the cursor, selected, until it ends or a key is pressed. */
async function complete() {
  const at = code.selectionStart;
  const [prefix, suffix] = [code.value.slice(0, at), code.value.slice(code.selectionEnd)];
  state.textContent = 'Completing …';
  const prompt = `<|fim_prefix|>${prefix}<|fim_suffix|>${suffix}<|fim_middle|>`;
  running = engine.generate(prompt, SETTINGS)[Symbol.asyncIterator]();
  let made = '';
  for await (const { text } of { [Symbol.asyncIterator]: () => running }) {
    made += text;
    code.value = prefix + made + suffix;
    code.setSelectionRange(at, at + made.length);
  }
  running = null;
  state.textContent = made ? 'Tab takes it.' : 'Nothing to add.';
}

const attempt = (task) => task().catch((error) => (state.textContent = error.message));

go.addEventListener('click', () => attempt(engine ? complete : begin));
code.addEventListener('keydown', (event) => {
  if (running) running.return();
  if (event.key === ' ' && event.ctrlKey && engine) {
    event.preventDefault();
    attempt(complete);
  } else if (event.key === 'Tab' && code.selectionStart !== code.selectionEnd) {
    event.preventDefault();
    code.setSelectionRange(code.selectionEnd, code.selectionEnd);
    state.textContent = 'Taken.';
  }
});
