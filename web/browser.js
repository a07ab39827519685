/**
 * What this browser can do and why not, the way to threads where the page itself can open it, and the engine's own test.
 */
import { byId, make, panel } from './dom.js';
import { capabilities, selfTest } from './engine.js';

/** @param {string} text */
const note = (text) => byId('threads-notes').append(make('li', '', text));

/** @param {string | null} why why this page cannot bring them */
function offerThreads(why) {
  const enable = byId('threads-enable', HTMLButtonElement);
  if (why) note(`This page cannot turn threads on by itself: ${why}.`);
  enable.hidden = why !== null;
  enable.addEventListener('click', () => {
    enable.disabled = true;
    /** @type {any} */ (window).qwen2Isolation.enable().catch((/** @type {Error} */ error) => {
      enable.hidden = true;
      note(`Threads could not be turned on: ${error.message}.`);
    });
  });
}

/** One line that can be pasted into a bug report. */
async function reportLine() {
  const [abilities, { ok, report }] = await Promise.all([
    capabilities(),
    selfTest().catch((/** @type {Error} */ error) => ({ ok: false, report: error.message })),
  ]);
  const { simd, relaxedSimd, threads, hardwareConcurrency } = abilities;
  const facts = { simd, relaxedSimd, threads, cores: hardwareConcurrency, agent: navigator.userAgent };
  return { ok, report, line: `qwen2-wasm self-test ${ok ? 'passed' : 'FAILED'} ${JSON.stringify(facts)} ${report}` };
}

function offerSelfTest() {
  const run = byId('selftest', HTMLButtonElement);
  const copy = byId('selftest-copy', HTMLButtonElement);
  const place = byId('selftest-report');
  let line = '';
  run.addEventListener('click', async () => {
    place.hidden = false;
    place.textContent = 'Testing …';
    const found = await reportLine();
    line = found.line.replace(/\s+/g, ' ');
    place.textContent = `${found.ok ? 'All is well.' : 'Something is wrong.'}\n${found.report.trim()}`;
    copy.hidden = false;
  });
  copy.addEventListener('click', async () => {
    const done = await navigator.clipboard?.writeText(line).then(
      () => true,
      () => false,
    );
    place.textContent = done ? `Copied:\n${line}` : `Copy this line:\n${line}`;
  });
}

/** Fills the panel. */
export async function showAbilities() {
  panel('browser');
  offerSelfTest();
  const { notes, threads, simd, relaxedSimd, hardwareConcurrency } = await capabilities();
  const has = (/** @type {boolean} */ here) => (here ? 'yes' : 'no');
  byId('abilities').replaceChildren(
    make('li', '', `WebAssembly SIMD: ${has(simd)}, relaxed: ${has(relaxedSimd)}`),
    make('li', '', `Threads: ${has(threads)}, of ${hardwareConcurrency} cores`),
  );
  for (const text of notes) note(text);
  byId('threads-notice').hidden = byId('limited').hidden = !notes.length;
  const isolation = /** @type {any} */ (window).qwen2Isolation;
  if (notes.length && !threads && isolation && !window.crossOriginIsolated) offerThreads(isolation.unavailable);
}
