// Makes dist/: the four wasm builds, the JavaScript bundles, types and notices. A second run does what changed.
//   node scripts/build.mjs
import { mkdirSync, writeFileSync } from 'node:fs';
import { bundle } from './build/bundle.mjs';
import { finishPackage } from './build/package.mjs';
import { buildWasm } from './build/wasm.mjs';
import { at, say, script } from './lib/run.mjs';

/** Everything in build/ that ends in .js is CommonJS (Emscripten's output), whatever package.json says of the sources. */
export function prepareFolders() {
  for (const folder of ['build', 'dist']) mkdirSync(at(folder), { recursive: true });
  writeFileSync(at('build/package.json'), '{ "type": "commonjs" }\n');
}

await script(async () => {
  say('build');
  prepareFolders();
  buildWasm();
  await bundle();
  await finishPackage();
});
