// Makes build/site/: the demo page with dist/, the tiny model and the manifest of the real one, ready for any
// static host.
//   node scripts/site.mjs [--no-build]      --no-build: takes dist/ as it is
import { copyFileSync, cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { at, say, script, show } from './lib/run.mjs';

const TINY = 'austen-tiny-q8_0.gguf';

await script(async (args) => {
  if (!args.includes('--no-build')) {
    if (await show(process.execPath, [at('scripts/setup.mjs'), '--build'])) return 1;
    if (await show(process.execPath, [at('scripts/build.mjs')])) return 1;
  }
  say('site');
  const fresh = at('build/site.new');
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  cpSync(at('web'), fresh, { recursive: true });
  cpSync(at('dist'), `${fresh}/dist`, { recursive: true });
  copyFileSync(at('dist/isolation-sw.js'), `${fresh}/isolation-sw.js`); // its place is its reach
  mkdirSync(`${fresh}/models`);
  for (const name of [TINY, 'manifest.json']) copyFileSync(at('models', name), `${fresh}/models/${name}`);
  // GitHub Pages leaves out files and folders that begin with _ unless this file is there.
  writeFileSync(`${fresh}/.nojekyll`, '');
  rmSync(at('build/site'), { recursive: true, force: true });
  renameSync(fresh, at('build/site'));
  say('  build/site');
});
