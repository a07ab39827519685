// The package as people get it: what is in it, what tools say of it, and a newcomer's path from an empty folder to an answer.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import ts from 'typescript';
import { packed } from '../support/packed.js';

const UNPACKED_LIMIT = 2.5e6;

/** @type {ReturnType<typeof packed>} */
let pack;
before(() => {
  pack = packed();
});
after(() => pack?.remove());

const manifest = () => JSON.parse(readFileSync(path.join(pack.installed, 'package.json'), 'utf8'));

/** Runs a program in the folder that has nothing but the package. */
function run(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: pack.folder, encoding: 'utf8' });
  return { status, stdout, stderr };
}

test('it holds what is used and no more: one declaration for each entry, no script at install, no dependency', () => {
  const { dependencies = {}, scripts } = manifest();
  assert.deepEqual(dependencies, {});
  for (const name of ['preinstall', 'install', 'postinstall']) assert.equal(scripts[name], undefined);
  const names = pack.entries.map((entry) => entry.path);
  const declarations = names.filter((name) => name.endsWith('.d.ts'));
  assert.deepEqual(
    declarations.sort(),
    ['element-define', 'element', 'index', 'node', 'openai', 'settings'].map((name) => `dist/${name}.d.ts`).sort(),
  );
  assert.deepEqual(
    names.filter((name) => /^(js|src|web|tests|scripts)\//.test(name)),
    [],
  );
  for (const name of ['LICENSE', 'dist/THIRD-PARTY-NOTICES', 'models/austen-tiny-q8_0.gguf'])
    assert.ok(names.includes(name), name);
  const bytes = pack.entries
    .filter((entry) => !entry.path.startsWith('models/'))
    .reduce((sum, { size }) => sum + size, 0);
  assert.ok(bytes <= UNPACKED_LIMIT, `${bytes} bytes without the model`);
});

test('publint has nothing to say', async () => {
  const { messages, pkg } = await publint({ pkgDir: pack.installed, strict: true, pack: false });
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg)),
    [],
  );
});

test('its types resolve in every way that modules are resolved', async () => {
  const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(pack.tarball)));
  assert.ok(analysis.types, 'there are types');
  // The package is of modules only: what require() and the resolution of before Node 12 would find is not asked for.
  const found = analysis.problems.filter(
    (problem) =>
      problem.kind !== 'CJSResolvesToESM' && !('resolutionKind' in problem && problem.resolutionKind === 'node10'),
  );
  assert.deepEqual(found, []);
});

test('a strict project compiles against it without skipLibCheck', () => {
  writeFileSync(
    path.join(pack.folder, 'strict.ts'),
    `import { Engine, QwenError, selfTest, type Result } from 'qwen2-wasm';
    import { Engine as InNode } from 'qwen2-wasm/node';
    import { QwenChatElement } from 'qwen2-wasm/element';
    await using engine = await Engine.load('x', { threads: 2 });
    for await (const { text } of engine.chat([{ role: 'user', content: 'x' }], { temperature: 0.7 })) console.log(text);
    const { sequences }: Result = await engine.generate('a', { max_new_tokens: 1 }).result;
    const chat: QwenChatElement | null = document.querySelector('qwen-chat');
    chat?.addEventListener('qwen-message', ({ detail }) => detail.result?.usage);
    const tested: { ok: boolean } = await selfTest();
    console.log(sequences, new QwenError('x').code, tested, InNode);
    // @ts-expect-error: what is inside is no API
    engine.host;
    // @ts-expect-error: no such setting
    engine.generate('a', { maximum: 1 });`,
  );
  const options = {
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
    types: [],
  };
  for (const resolved of [
    { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
    { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
  ]) {
    const program = ts.createProgram([path.join(pack.folder, 'strict.ts')], { ...options, ...resolved });
    const faults = ts.getPreEmitDiagnostics(program);
    assert.deepEqual(
      faults.map((fault) => ts.flattenDiagnosticMessageText(fault.messageText, '\n')),
      [],
    );
  }
});

test('every entry can be imported where there is no document', () => {
  for (const entry of [
    'qwen2-wasm',
    'qwen2-wasm/node',
    'qwen2-wasm/element',
    'qwen2-wasm/element-define',
    'qwen2-wasm/dist/index.js',
  ]) {
    const { status, stderr } = run('--input-type=module', '-e', `await import('${entry}')`);
    assert.equal(status, 0, `${entry}: ${stderr}`);
  }
});

test('a newcomer in an empty folder gets an answer: by the command line without --model, and from a script', () => {
  const settings = ['--prompt', 'It is a truth', '--max_new_tokens', '12'];
  const command = run('node_modules/qwen2-wasm/dist/cli.js', 'generate', ...settings);
  assert.equal(command.status, 0, command.stderr);
  assert.ok(command.stdout.length > 20, command.stdout);
  const script = run(
    '--input-type=module',
    '-e',
    `import { Engine } from 'qwen2-wasm';
    const engine = await Engine.load('node_modules/qwen2-wasm/models/austen-tiny-q8_0.gguf');
    for await (const { text } of engine.generate('It is a truth', { max_new_tokens: 12 })) process.stdout.write(text);
    await engine.close();`,
  );
  assert.equal(script.status, 0, script.stderr);
  assert.ok(command.stdout.includes(script.stdout.trim()), `${script.stdout} in ${command.stdout}`);
});

test('serve refuses a folder that is not there', () => {
  const { status, stderr } = run('node_modules/qwen2-wasm/dist/cli.js', 'serve', '/nonexistent');
  assert.equal(status, 2);
  assert.match(stderr, /\/nonexistent is no folder/);
  assert.ok(!existsSync('/nonexistent'));
});
