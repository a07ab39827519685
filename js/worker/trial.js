// simd: 'auto' where both builds validate: the trial that each build carries (src/kernels/kernel_choice.c) is run now and then on
// a device, and what won is remembered beside the models. Results do not depend on the choice, only speed does.
import { SIMD_FILE } from '../weights/store.js';

/** The base build is taken where it is faster by more than this: a little is what other work on the machine makes. */
const CLEARLY = 1.05;
/** What is remembered holds for so many loads; then it is asked again, since it may have been found on a busy machine. */
const LOADS = 10;
/** Each build's trial takes 5 to 10 ms; the better one of two, since the first may begin in code that is not optimised yet. */
const ROUNDS = 2;

/**
 * @typedef {import('../protocol.js').WasmChoice} WasmChoice
 *
 * @typedef {object} TrialContext
 * @property {() => Promise<import('../host.js').Store | null>} store where the outcome is remembered; null: nowhere
 * @property {string} device what the outcome depends on: the version of the wasm files, the browser
 * @property {(url: string) => Promise<() => number>} start the trial of a build: seconds, 0 where it cannot be run
 */

/**
 * The choice, without a question left. What goes wrong here goes wrong without loss: the relaxed build is taken, as it is
 * where nothing is known.
 * @param {WasmChoice} choice
 * @param {TrialContext} context
 * @returns {Promise<WasmChoice>}
 */
export async function decideBuild(choice, { store: find, device, start }) {
  if (!choice.trial) return choice;
  const store = await find();
  const known = store && (await remembered(store, device));
  if (store && known && known.loads < LOADS) {
    await remember(store, { ...known, loads: known.loads + 1 });
    return { ...choice, trial: false, relaxed: known.relaxed };
  }
  const seconds = await time(choice.urls, start).catch(() => null);
  if (!seconds) return { ...choice, trial: false };
  const relaxed = seconds.relaxed <= seconds.base * CLEARLY;
  if (store) await remember(store, { device, relaxed, seconds, loads: 1 });
  return { ...choice, trial: false, relaxed };
}

/**
 * @typedef {object} Outcome
 * @property {string} device
 * @property {boolean} relaxed
 * @property {{ base: number, relaxed: number }} [seconds]
 * @property {number} loads that went by it, the first included
 */

/**
 * @param {import('../host.js').Store} store
 * @param {Outcome} outcome
 */
const remember = (store, outcome) => store.write(SIMD_FILE, JSON.stringify(outcome)).catch(() => {});

/**
 * @param {import('../host.js').Store} store
 * @param {string} device
 * @returns {Promise<Outcome | null>}
 */
async function remembered(store, device) {
  try {
    const known = JSON.parse((await store.text(SIMD_FILE)) ?? 'null');
    return known?.device === device && typeof known.relaxed === 'boolean' && known.loads >= 1 ? known : null;
  } catch {
    return null;
  }
}

/**
 * Seconds of both builds of one thread; null where one of them cannot tell. They take turns, so that other work on the machine
 * hits both.
 * @param {Record<string, string>} urls
 * @param {TrialContext['start']} start
 */
async function time(urls, start) {
  const [base, relaxed] = await Promise.all([start(urls['']), start(urls['-relaxed'])]);
  const best = { base: Infinity, relaxed: Infinity };
  for (let round = 0; round < ROUNDS; round++) {
    best.base = Math.min(best.base, base());
    best.relaxed = Math.min(best.relaxed, relaxed());
  }
  return best.base > 0 && best.relaxed > 0 ? best : null;
}
