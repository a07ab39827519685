// Serves a folder (default build/site) with the headers that give a page threads. `npm start` uses startServer() itself.
//   node scripts/serve.mjs [FOLDER ...] [--port 8080] [--no-isolation]
import { parseArgs } from 'node:util';
import { startServer, strictPolicy } from '../js/cli/static-server.js';
import { at, say, script } from './lib/run.mjs';

await script(async (args) => {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { port: { type: 'string', default: '8080' }, 'no-isolation': { type: 'boolean', default: false } },
  });
  const server = await startServer({
    folders: positionals.length ? positionals : at('build/site'),
    port: Number(values.port),
    isolation: !values['no-isolation'],
    policy: strictPolicy('https:'),
  });
  say(server.url);
});
