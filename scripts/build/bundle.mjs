// The JavaScript of dist/, one bundle for each entry. An entry that imports another entry keeps the import, so that
// their classes exist once; what is data only is copied. Nothing else is left to import.
import { chmodSync } from 'node:fs';
import path from 'node:path';
import { at, say } from '../lib/run.mjs';

/** file: what a page or Node loads; source: where it is written; classic: a script, not a module; data: no classes. */
const ENTRIES = [
  { file: 'index.js', source: 'js/index.js' },
  { file: 'element.js', source: 'js/element.js' },
  { file: 'element-define.js', source: 'js/element-define.js' },
  { file: 'openai.js', source: 'js/openai.js' },
  { file: 'settings.js', source: 'js/settings.js', data: true },
  { file: 'worker.js', source: 'js/worker/worker.js', classic: true },
  { file: 'template-worker.js', source: 'js/worker/template-worker.js', classic: true },
  { file: 'isolation-sw.js', source: 'js/sw/isolation-sw.js', classic: true },
  { file: 'node.js', source: 'js/node.js', node: true },
  { file: 'cli.js', source: 'js/cli/cli.js', node: true, program: true },
  { file: 'node-worker.mjs', source: 'js/node/worker.mjs', node: true },
];

const keepEntries = {
  name: 'keep-entries',
  setup(build) {
    build.onResolve({ filter: /^\.\.?\// }, ({ path: wanted, resolveDir, kind }) => {
      if (kind === 'entry-point') return null;
      const source = path.resolve(resolveDir, wanted);
      const entry = ENTRIES.find((other) => at(other.source) === source && !other.data);
      return entry ? { path: `./${entry.file}`, external: true } : null;
    });
  },
};

/** @returns {import('esbuild').BuildOptions} */
function optionsOf(entry) {
  return {
    entryPoints: [at(entry.source)],
    outfile: at('dist', entry.file),
    bundle: true,
    minify: true,
    format: entry.classic ? 'iife' : 'esm',
    platform: entry.node ? 'node' : 'browser',
    target: entry.node ? 'node20.16' : ['es2022', 'chrome100', 'firefox100', 'safari16.4'],
    legalComments: 'none',
    logLevel: 'warning',
    banner: { js: entry.program ? '#!/usr/bin/env node' : '' },
    plugins: [keepEntries],
  };
}

/** Bundles every entry. */
export async function bundle() {
  const { build } = await import('esbuild');
  say('  bundles');
  const results = await Promise.all(ENTRIES.map((entry) => build(optionsOf(entry))));
  if (results.some((result) => result.warnings.length)) throw new Error('the bundler has warnings');
  for (const entry of ENTRIES.filter((one) => one.program)) chmodSync(at('dist', entry.file), 0o755);
}
