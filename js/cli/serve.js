/** `serve`: a folder over HTTP, with the headers that give a page threads. */
import { statSync } from 'node:fs';
import { UsageError, parseOptions } from './options.js';
import { out } from './output.js';
import { startServer, strictPolicy } from './static-server.js';

export const summary = 'serve a folder with the headers that give a page threads';

export const help = `Usage: qwen2-wasm serve [FOLDER] [options]

Serves FOLDER (default: the working directory) and prints its address. Every response has COOP and COEP, and the strict
content policy that the package works under (weights may come from any https address).

  --port NUMBER            default 8080; 0 takes a free one
  --host NAME              default 127.0.0.1: this machine only
  --no-isolation           without COOP and COEP, as on a host that sets no headers
  --no-policy              without a content policy
`;

/** @param {string[]} args */
export async function run(args) {
  const kinds = /** @type {const} */ ({ port: 'number', host: 'text', 'no-isolation': 'flag', 'no-policy': 'flag' });
  const { values, words } = parseOptions(args, kinds, 1);
  const { port = 8080 } = values;
  if (!Number.isInteger(port) || port < 0 || port > 65535) throw new UsageError(`--port wants 0 to 65535, got ${port}`);
  const folder = words[0] ?? '.';
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw new UsageError(`${folder} is no folder`);
  const server = await startServer({
    folders: folder,
    port,
    host: values.host,
    isolation: !values['no-isolation'],
    policy: values['no-policy'] ? null : strictPolicy('https:'),
  });
  out(`${server.url}\n`);
  await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve));
  await server.close();
  return 0;
}
