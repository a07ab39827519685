// What the README says can be done, can be done.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { strictPolicy } from '../../js/cli/static-server.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(`${root}README.md`, 'utf8');

test('the first example runs as it stands, in Node with the import that the README names', () => {
  const [, example] = /```js\n([\s\S]*?)```/.exec(readme);
  assert.ok(example.split('\n').length <= 11, 'ten lines');
  assert.ok(readme.includes('In Node the import is `./dist/node.js`'));
  const page = 'globalThis.document = { body: { append: (text) => process.stdout.write(text) } };';
  const script = page + example.replace("from './dist/index.js'", "from './dist/node.js'");
  const done = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.equal(done.status, 0, done.stderr);
  assert.match(done.stdout, /completion_tokens: 64/);
  assert.match(done.stdout, /[a-z]+ [a-z]+ [a-z]+/);
});

test('the content policy is the one that the browser tests run under', () => {
  assert.ok(readme.includes(`\n${strictPolicy()}\n`));
});

test('every script and every file that it names is there', () => {
  const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
  const named = [...readme.matchAll(/npm run ([\w-]+)/g)].map((match) => match[1]);
  assert.ok(named.length >= 4);
  for (const name of named) assert.ok(scripts[name], `npm run ${name}`);
  const files = [...readme.matchAll(/\b(?:src|js)(?:\/[\w-]+)+\.(?:c|h|js)\b|\bdist\/[\w.-]+\.(?:js|ts)\b/g)].map(
    (match) => match[0],
  );
  assert.ok(files.length >= 10);
  for (const file of files) assert.ok(existsSync(root + file), file);
});
