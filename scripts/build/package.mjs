// What makes dist/ a package by itself: types, licence, notices, and the word that its scripts are modules.
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { bundleTypes } from './types.mjs';
import { filesBelow } from '../lib/files.mjs';
import { at, quietly, root, say } from '../lib/run.mjs';

/** Folders that an earlier version of the build made in dist/. */
const FORMER = ['element', 'node', 'openai', 'page', 'weights'];

/** Declarations of the JavaScript, from its JSDoc; tsc is asked only when a source changed. */
async function writeTypes() {
  if (!existsSync(at('js/index.js'))) return;
  const sources = readdirSync(at('js'), { recursive: true }).map((name) => at('js', name));
  const newest = Math.max(
    ...sources.map((file) => statSync(file).mtimeMs),
    statSync(at('tsconfig.types.json')).mtimeMs,
  );
  const stamp = at('build/types.stamp');
  if (existsSync(stamp) && statSync(stamp).mtimeMs > newest && existsSync(at('dist/index.d.ts'))) return;
  say('  types');
  for (const file of filesBelow('dist', /\.d\.ts$/)) rmSync(at(file));
  for (const folder of FORMER) rmSync(at('dist', folder), { recursive: true, force: true });
  quietly(at('node_modules/.bin/tsc'), ['-p', 'tsconfig.types.json'], { cwd: root });
  await bundleTypes();
  writeFileSync(stamp, '');
}

function writeNotices() {
  const read = (file) => readFileSync(file, 'utf8').trim();
  const notices = [
    read(at('scripts/build/notices.txt')),
    `cJSON\n\n${read(at('build/deps/cjson/LICENSE'))}`,
    `streaming-markdown\n\n${read(at('node_modules/streaming-markdown/license'))}`,
  ];
  const line = '-'.repeat(80);
  writeFileSync(at('dist/THIRD-PARTY-NOTICES'), `${notices.join(`\n\n${line}\n\n`)}\n`);
}

export async function finishPackage() {
  await writeTypes();
  writeNotices();
  copyFileSync(at('LICENSE'), at('dist/LICENSE'));
  writeFileSync(at('dist/package.json'), '{ "type": "module" }\n');
}
