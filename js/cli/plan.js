/** `plan`: what a model would take, from its headers alone. */
import { Engine } from '../node.js';
import { LOAD, LOAD_HELP, MODEL, MODEL_HELP, modelSource, parseOptions, pick } from './options.js';
import { out } from './output.js';

export const summary = 'tell what a model would download and need';

export const help = `Usage: qwen2-wasm plan [--model FILE] [options]

Reads only the headers of the model.

  --json                   one JSON object, by the names of the API

${MODEL_HELP}
${LOAD_HELP}`;

/** @param {number} bytes */
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** @param {number | null} bytes null: not known */
const room = (bytes) => (bytes === null ? 'unknown' : megabytes(bytes));

/** @param {string[]} args */
export async function run(args) {
  const { values } = parseOptions(args, { ...MODEL, ...LOAD, json: 'flag' });
  const plan = await Engine.plan(modelSource(values.model), pick(values, MODEL, LOAD));
  if (values.json) {
    out(`${JSON.stringify(plan)}\n`);
    return 0;
  }
  const rows = [
    ['to fetch', megabytes(plan.downloadBytes)],
    ['on this device', megabytes(plan.cachedBytes)],
    ['weights in memory', megabytes(plan.weightBytes)],
    ['KV cache', megabytes(plan.kvBytes)],
    ['peak of memory', megabytes(plan.peakBytes)],
    // 0: nothing is kept, as of a file that is on this machine already.
    ...(plan.storageBytes === 0 ? [] : [['room to keep it', room(plan.storageBytes)]]),
    ['fits', plan.fits ? 'yes' : 'no'],
    ...plan.advice.map((advice) => ['advice', advice]),
  ];
  out(rows.map(([name, value]) => `${name.padEnd(18)} ${value}\n`).join(''));
  return 0;
}
