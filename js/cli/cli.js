/**
 * The command line, `npx qwen2-wasm`: it finds the command and turns errors into a line on stderr and an exit code
 * (1; 2 where the call itself was wrong; 130 after Ctrl-C). What a command does stands in js/cli/.
 */
import * as cache from './cache.js';
import * as chat from './chat.js';
import * as fetch from './fetch.js';
import * as generate from './generate.js';
import * as manifest from './manifest.js';
import { UsageError } from './options.js';
import { err, out } from './output.js';
import * as plan from './plan.js';
import * as serve from './serve.js';
import { INTERRUPTED } from './session.js';
import * as tokenize from './tokenize.js';

/** @type {Record<string, { summary: string, help: string, run(args: string[]): Promise<number> }>} */
const COMMANDS = { generate, chat, tokenize, plan, fetch, cache, manifest, serve };

const HELP = `Usage: qwen2-wasm COMMAND [options]

Runs Qwen2 models with the WebAssembly engine that pages use.

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}\n`)
  .join('')}
qwen2-wasm COMMAND --help tells the options of one.
`;

/**
 * @param {string[]} args
 * @returns {Promise<number>} The exit code.
 */
async function main([name, ...args]) {
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    (name === undefined ? err : out)(HELP);
    return name === undefined ? 2 : 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : null;
  if (!command) throw new UsageError(`there is no command "${name}"; qwen2-wasm --help lists them`);
  const options = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined);
  if (options.includes('--help') || options.includes('-h')) {
    out(command.help);
    return 0;
  }
  return command.run(args);
}

process.stdout.on('error', (error) => {
  // The reader has gone, as in `generate | head`.
  if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EPIPE') process.exit(0);
  err(`qwen2-wasm: stdout cannot be written: ${error.message}\n`);
  process.exit(1);
});

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (/** @type {any} */ error) {
  const { code } = error;
  const flag = code === 'ERR_ACCESS_DENIED' ? `: start node with --allow-fs-read=${error.resource}` : '';
  if (code !== 'aborted') err(`qwen2-wasm: ${error.message}${flag}\n`);
  process.exitCode = code === 'aborted' ? INTERRUPTED : error instanceof UsageError || code === 'usage' ? 2 : 1;
}
