// Goes on with a text, word by word, where the visitor sees it; Stop and a way back.
// @ts-nocheck: an example, to be read
import { Engine } from '../dist/index.js';

const [text, go, back, state] = ['text', 'go', 'back', 'state'].map((id) => document.getElementById(id));
const SETTINGS = { do_sample: true, temperature: 0.8, top_p: 0.9, repetition_penalty: 1.1, max_new_tokens: 120 };

let before = text.value;
let running = null;

async function goOn(engine) {
  before = text.value;
  go.textContent = 'Stop';
  state.textContent = 'Writing …';
  running = engine.generate(text.value, SETTINGS)[Symbol.asyncIterator]();
  try {
    for await (const chunk of { [Symbol.asyncIterator]: () => running }) {
      text.value += chunk.text;
      text.scrollTop = text.scrollHeight;
    }
    state.textContent = 'Change anything, and let it go on.';
  } catch (error) {
    state.textContent = error.message;
  }
  running = null;
  go.textContent = 'Go on';
  back.disabled = false;
}

try {
  const engine = await Engine.load('../models/austen-tiny-q8_0.gguf');
  go.addEventListener('click', () => (running ? running.return() : goOn(engine)));
  back.addEventListener('click', () => {
    if (!running) text.value = before;
  });
  go.disabled = false;
  state.textContent = 'Ready.';
} catch (error) {
  state.textContent = error.message;
}
