/** `fetch`: brings a model to this device, or the rest of one, and loads nothing. */
import { modelCache } from '../node.js';
import { MODEL, MODEL_HELP, modelSource, parseOptions, pick, UsageError } from './options.js';
import { out } from './output.js';
import { Interrupt, progressLine } from './session.js';

export const summary = 'bring a model to this device without running it';

export const help = `Usage: qwen2-wasm fetch --model URL [options]

What was begun goes on where it stopped; every chunk is checked. A second program that wants the same model waits for this one.

  --json                   one JSON object

${MODEL_HELP}`;

/** @param {string[]} args */
export async function run(args) {
  const { values } = parseOptions(args, { ...MODEL, json: 'flag' });
  if (!values.model) throw new UsageError('--model URL is needed');
  if (values.cache === false) throw new UsageError('--cache false keeps nothing: there is nothing to fetch for');
  const control = new AbortController();
  const line = progressLine();
  const options = { ...pick(values, MODEL), signal: control.signal, onProgress: line.show };
  const { bytes, notes } = await new Interrupt().during(
    () => control.abort(),
    () => modelCache.fetch(modelSource(values.model), options).finally(line.clear),
  );
  for (const note of notes) process.stderr.write(`${note}\n`);
  out(values.json ? `${JSON.stringify({ bytes, notes })}\n` : `${(bytes / 1e6).toFixed(1)} MB are on this device\n`);
  return 0;
}
