/**
 * The last answer as the API gives it, for people who want to build with it: written when someone looks.
 */
import { byId, make } from './dom.js';

/** @typedef {import('../js/index.js').Chunk} Chunk */

const details = byId('result', HTMLDetailsElement);
/** @type {{ result?: import('../js/index.js').Result, chunks: Chunk[] }} */
let last = { chunks: [] };

function write() {
  const { result, chunks } = last;
  if (!details.open) return;
  const lines = Object.entries(result ?? {}).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  const all = make('pre', '', lines.join('\n') || 'There is none yet.');
  all.tabIndex = 0;
  byId('result-body').replaceChildren(...(chunks.length ? [logprobsTable(chunks)] : []), all);
}

details.addEventListener('toggle', write);
byId('chat').addEventListener('qwen-token', (event) => {
  const { detail } = /** @type {CustomEvent<Chunk>} */ (event);
  if (detail.logprobs) last.chunks.push(detail);
});

/**
 * @param {{ role: string, result?: import('../js/index.js').Result }} message
 */
export function showResult({ role, result }) {
  if (role === 'user') last = { chunks: [] };
  else last = { result, chunks: last.chunks };
  write();
}

/** @param {Chunk[]} chunks */
function logprobsTable(chunks) {
  const heads = ['row', 'text', 'token', 'raw', 'processed', 'likeliest, raw', 'likeliest, processed'];
  const list = (/** @type {Array<[number, number]>} */ top) =>
    top.map(([id, logprob]) => `${id} ${logprob.toFixed(3)}`).join(', ');
  const rows = chunks.flatMap(({ index, text, logprobs = [] }) =>
    logprobs.map((one) => [
      String(index),
      JSON.stringify(text),
      String(one.token_id),
      one.raw.toFixed(3),
      one.processed.toFixed(3),
      list(one.top_raw),
      list(one.top_processed),
    ]),
  );
  const head = make('tr', '', ...heads.map((text) => make('th', '', text)));
  const body = rows.map((cells) => make('tr', '', ...cells.map((text) => make('td', '', text))));
  const caption = make('caption', '', 'Log-probabilities');
  const table = make('table', '', caption, make('thead', '', head), make('tbody', '', ...body));
  const frame = make('div', 'scroll', table);
  frame.tabIndex = 0;
  return frame;
}
