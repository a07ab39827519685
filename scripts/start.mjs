// Sets up, builds, streams an answer of the bundled model into the terminal, then serves the demo page.
//   node scripts/start.mjs [--port 8080]
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { at, say, script, show } from './lib/run.mjs';

const TINY = 'models/austen-tiny-q8_0.gguf';
const PROMPT = 'It is a truth universally acknowledged, that';

async function node(file, ...args) {
  const code = await show(process.execPath, [at(file), ...args]);
  if (code) throw new Error(`${file} failed`);
}

/** What is served beside the site: the models that were fetched, so that the page need not go to their home. */
function localFolder() {
  const folder = at('build/local');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  symlinkSync(at('build/models'), `${folder}/models`);
  return folder;
}

/** Serves the site on the port that was asked for, else on 8080 or where that is taken on any. */
async function serve(port) {
  const { startServer, strictPolicy } = await import('../js/cli/static-server.js');
  const options = { folders: [at('build/site'), localFolder()], policy: strictPolicy('https:') };
  try {
    return await startServer({ ...options, port: Number(port ?? 8080) });
  } catch (error) {
    if (port || error.code !== 'EADDRINUSE') throw error;
    return startServer({ ...options, port: 0 });
  }
}

await script(async (args) => {
  const { values } = parseArgs({ args, options: { port: { type: 'string' } } });
  await node('scripts/site.mjs');
  say(`\nausten-tiny, a model of 5 M parameters, goes on from "${PROMPT}" here in Node:\n`);
  const settings = '--max_new_tokens 80 --do_sample true --temperature 0.7 --top_p 0.9 --seed 1'.split(' ');
  await node('dist/cli.js', 'generate', '--model', TINY, '--prompt', PROMPT, ...settings);
  const server = await serve(values.port);
  say(`\nThe demo page: ${server.url}   (Ctrl+C ends)`);
});
