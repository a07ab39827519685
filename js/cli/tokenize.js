/** `tokenize`: the token ids of a text. */
import { LOAD, LOAD_HELP, MODEL, MODEL_HELP, parseOptions } from './options.js';
import { out } from './output.js';
import { Interrupt, promptsOrStdin, withEngine } from './session.js';

export const summary = 'show the token ids of a text';

export const help = `Usage: qwen2-wasm tokenize [--model FILE] --prompt TEXT [options]

Writes the ids to stdout, one line a text.

  --prompt TEXT            the text; several times for several; without it, all of stdin
  --parse_special BOOLEAN  whether text such as <|im_start|> becomes its id (default true)
  --json                   one JSON object: {"token_ids": [[...], ...]}

${MODEL_HELP}
${LOAD_HELP}`;

/** @param {string[]} args */
export async function run(args) {
  const kinds = /** @type {const} */ ({ prompt: 'strings', parse_special: 'boolean', json: 'flag' });
  const { values } = parseOptions(args, { ...MODEL, ...LOAD, ...kinds });
  const prompts = await promptsOrStdin(values.prompt);
  return withEngine(values, new Interrupt(), async (engine) => {
    const rows = [];
    for (const text of prompts) {
      rows.push([...(await engine.tokenize(text, { parse_special: values.parse_special ?? true }))]);
    }
    const lines = values.json ? [JSON.stringify({ token_ids: rows })] : rows.map((ids) => ids.join(' '));
    out(`${lines.join('\n')}\n`);
    return 0;
  });
}
