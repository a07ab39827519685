// Sets up, builds, streams an answer of the bundled model into the terminal, then serves the demo page.
//   node scripts/start.mjs [--port 8080]
import { parseArgs } from 'node:util';
import { at, say, script, show } from './lib/run.mjs';

const PROMPT = 'It is a truth universally acknowledged, that';

async function node(file, ...args) {
  const code = await show(process.execPath, [at(file), ...args]);
  if (code) throw new Error(`${file} failed`);
}

await script(async (args) => {
  const { values } = parseArgs({ args, options: { port: { type: 'string', default: '8080' } } });
  await node('scripts/site.mjs');
  say(`\nausten-tiny, a model of 5 M parameters, goes on from "${PROMPT}" here in Node:\n`);
  await node(
    'dist/cli.js',
    'generate',
    '--model',
    'models/austen-tiny-q8_0.gguf',
    '--prompt',
    PROMPT,
    '--max_new_tokens',
    '64',
  );
  const { startServer, strictPolicy } = await import('../js/cli/static-server.js');
  const server = await startServer({
    folders: at('build/site'),
    port: Number(values.port),
    policy: strictPolicy('https:'),
  });
  say(`\nThe demo page: ${server.url}   (Ctrl+C ends)`);
});
