/** `generate`: continues a text, or a batch of them. */
import { LOAD_HELP, MODEL_HELP, RUN, SETTINGS, SETTINGS_HELP, parseOptions, pick } from './options.js';
import { err, out } from './output.js';
import {
  INTERRUPTED,
  Interrupt,
  further,
  jsonLine,
  promptsOrStdin,
  statistics,
  streamAnswer,
  withEngine,
} from './session.js';

export const summary = 'continue a text';

export const help = `Usage: qwen2-wasm generate [--model FILE] --prompt TEXT [options]

Continues the text as it is, without a chat template, and writes what follows to stdout as it comes.

  --prompt TEXT            the text; several times for a batch; without it, all of stdin
  --json                   one JSON object at the end: sequences, usage, timings, seed, ...; with --logprobs, chunks
  --stats                  tokens per second, on stderr

${MODEL_HELP}
${LOAD_HELP}
${SETTINGS_HELP}`;

/** @param {string[]} args */
export async function run(args) {
  const { values } = parseOptions(args, { ...RUN, prompt: 'strings' });
  const prompts = await promptsOrStdin(values.prompt);
  const prompt = prompts.length === 1 ? prompts[0] : prompts;
  const settings = pick(values, SETTINGS);
  const streams = !values.json && prompts.length === 1 && (settings.num_return_sequences ?? 1) === 1;
  const interrupt = new Interrupt();

  return withEngine(values, interrupt, async (engine) => {
    const { result, chunks, stopped } = await streamAnswer(
      engine.generate(prompt, settings),
      (text) => streams && out(text),
      interrupt,
    );
    if (values.json) out(jsonLine({ ...result, chunks }));
    else if (streams) out(`\n${further(result.sequences)}`);
    else out(result.sequences.map((row) => `[${row.index}]${row.text}\n`).join(''));
    if (!values.json) for (const note of result.notes) err(`note: ${note}\n`);
    if (values.stats) err(`${statistics(result)}\n`);
    return stopped ? INTERRUPTED : 0;
  });
}
