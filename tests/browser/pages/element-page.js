// An engine that says what a test dictates, and ways to put elements into the page.
import '/dist/element-define.js';

/** Pieces of text that an answer is made of, with a turn of the event loop between them. */
class DictatedEngine {
  info = { name: 'Dictated', contextLength: 1000, chatTemplate: 'chatml' };
  calls = [];
  closed = false;

  constructor(answer) {
    this.answer = answer;
  }

  chat(messages, settings) {
    return this.#make(messages, settings);
  }

  generate(prompt, settings) {
    return this.#make(prompt, settings);
  }

  #make(input, settings) {
    this.calls.push({ input, settings });
    const pieces = this.answer(input);
    const state = { left: false, tokens: 0 };
    let settle;
    const result = new Promise((resolve, reject) => (settle = { resolve, reject }));
    result.catch(() => {});
    const usage = () => ({ prompt_tokens: 10, cached_tokens: 0, completion_tokens: state.tokens });
    const finish = (finish_reason) =>
      settle.resolve({ sequences: [{ finish_reason }], usage: usage(), timings: { decode: 10 }, notes: [] });
    async function* chunks() {
      try {
        for (const text of pieces) {
          if (text instanceof Error) throw text;
          await new Promise((resolve) => setTimeout(resolve, 0));
          state.tokens++;
          yield { index: 0, text, token_ids: [1] };
        }
        finish('eos');
      } catch (error) {
        settle.reject(error);
        throw error;
      } finally {
        finish('aborted');
      }
    }
    return { result, [Symbol.asyncIterator]: chunks };
  }

  async close() {
    this.closed = true;
  }
}

const cut = (text, size) => text.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? [];

/** Adds an element whose engine answers everything with that text, in pieces of some letters. */
window.addDictated = (answer, { size = 7, attributes = {}, into = document.getElementById('place') } = {}) => {
  const chat = document.createElement('qwen-chat');
  for (const [name, value] of Object.entries(attributes)) chat.setAttribute(name, value);
  into.append(chat);
  const pieces = Array.isArray(answer) ? answer : cut(answer, size);
  chat.engine = new DictatedEngine(() => pieces);
  return chat;
};
window.DictatedEngine = DictatedEngine;

/** Resolves when the element has that phase. */
window.inPhase = (chat, phase) =>
  new Promise((resolve) => {
    if (chat.phase === phase) return resolve();
    chat.addEventListener('qwen-phase', function listen({ detail }) {
      if (detail.phase !== phase) return;
      chat.removeEventListener('qwen-phase', listen);
      resolve();
    });
  });

/** Sends a text and resolves to the answer's place when all of it is on the screen. */
window.say = async (chat, text) => {
  await window.inPhase(chat, 'ready');
  if (!chat.send(text)) throw new Error('not taken');
  await window.inPhase(chat, 'ready');
  for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
  return chat.shadowRoot.querySelector('.turns > .turn:last-child .text');
};
window.loaded = true;
