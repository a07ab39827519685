// The checks that need no test program: format, warnings, types, and the lists that must agree with the tree.
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { engineExports, WASM_BUILDS } from '../build/wasm.mjs';
import { cmakeBuild } from './cmake.mjs';
import { cFiles, filesBelow, filesIn, SHARED_FIXTURES } from './files.mjs';
import { at, capture, captureAside } from './run.mjs';
import { circlesOfCalls, faultsOfC, faultsOfJs } from './structure.mjs';

/** The clang-format whose results are the rule; others differ in small things. */
const CLANG_FORMAT = 14;
/** Files of tests/fixtures/ that are about the folder itself. */
const OWN_FIXTURES = ['README.md', '.gitattributes'];

/** @typedef {{ ok?: boolean, text?: string, skipped?: string }} Outcome skipped: why it was not checked. */

const pass = { ok: true, text: '' };
const fail = (text) => ({ ok: false, text });
const verdict = (faults) => (faults.length ? fail(faults.join('\n')) : pass);

async function formatOfC() {
  const version = /version (\d+)/.exec(capture('clang-format', ['--version']).stdout)?.[1];
  if (Number(version) !== CLANG_FORMAT)
    return { skipped: `clang-format is ${version}, the rule is that of ${CLANG_FORMAT}` };
  return captureAside('clang-format', ['--dry-run', '--Werror', ...cFiles()]);
}

const formatOfJs = () => {
  const cache = ['--cache', '--cache-strategy', 'content', '--cache-location', at('build/tmp/prettier-cache')];
  return captureAside(at('node_modules/.bin/prettier'), ['--check', '--log-level', 'warn', ...cache, '.']);
};

/** What one run found out serves the next. */
function types(config) {
  const known = at('build/tmp', `${config.replaceAll('/', '-')}.tsbuildinfo`);
  return captureAside(at('node_modules/.bin/tsc'), ['-p', config, '--incremental', '--tsBuildInfoFile', known]);
}

const linter = () => {
  const cache = ['--cache', '--cache-strategy', 'content', '--cache-location', at('build/tmp/eslint-cache')];
  return captureAside(at('node_modules/.bin/eslint'), [...cache, '.']);
};

/** The package's types can stand where tests/types/api.d.ts is expected. */
const contract = () =>
  existsSync(at('dist/index.d.ts')) ? types('tests/types/tsconfig.json') : { skipped: 'dist/ is not built' };

/** Rooms and circles, by includes and imports. */
const structure = () => verdict([...faultsOfC(), ...faultsOfJs()]);

/** The objects of the optimised native library by their files. */
function nativeObjects() {
  cmakeBuild('native', 'core_native');
  const folder = 'build/native/CMakeFiles/core_native.dir/';
  return Object.fromEntries(cmakeList('QW_SOURCES').map((name) => [at(`${folder}src/${name}.c.o`), `src/${name}.c`]));
}

const calls = () => verdict(circlesOfCalls(nativeObjects()));

/** The names of a list in CMakeLists.txt. */
function cmakeList(name) {
  const text = readFileSync(at('CMakeLists.txt'), 'utf8');
  const list = new RegExp(`set\\(${name}\\s([^)]*)\\)`).exec(text)?.[1];
  if (!list) throw new Error(`CMakeLists.txt has no list ${name}`);
  return list.trim().split(/\s+/);
}

/** Every file is listed in CMakeLists.txt, and every name there has its file. */
function fileLists() {
  const faults = [];
  const compare = (list, present, listed) => {
    for (const file of present.filter((one) => !listed.includes(one))) faults.push(`${file} is not in ${list}`);
    for (const file of listed.filter((one) => !present.includes(one))) faults.push(`${list}: there is no ${file}`);
  };
  const named = (list, prefix) => cmakeList(list).map((name) => `${prefix}${name}.c`);
  const programs = ['base/alloc', 'hosts/main', 'hosts/wasm', 'hosts/file_source'].map((name) => `src/${name}.c`);
  compare('QW_SOURCES', filesBelow('src', /\.c$/), [...named('QW_SOURCES', 'src/'), ...programs]);
  compare('QW_TESTS', filesIn('tests/c', /^test_.*\.c$/), named('QW_TESTS', 'tests/c/test_'));
  compare('QW_FUZZERS', filesIn('tests/c', /^fuzz_.*\.c$/), named('QW_FUZZERS', 'tests/c/fuzz_'));
  compare('QW_CONFORMANCE', filesIn('tests/c', /^conformance.*\.c$/), named('QW_CONFORMANCE', 'tests/c/'));
  return verdict(faults);
}

const WARNINGS = [
  '-Wall',
  '-Wextra',
  '-Wpedantic',
  '-Wconversion',
  '-Wshadow',
  '-Wstrict-prototypes',
  '-Wmissing-prototypes',
];

/** One plain line compiles and links the command line: the build system holds no secrets. */
async function plainCompile(compiler) {
  const sources = filesBelow('src', /\.c$/).filter((file) => file !== 'src/hosts/wasm.c');
  mkdirSync(at('build/plain'), { recursive: true });
  const cjson = `build/plain/cJSON-${compiler}.o`;
  const dependency = await captureAside(compiler, [
    '-std=c11',
    '-O2',
    '-w',
    '-c',
    'build/deps/cjson/cJSON.c',
    '-o',
    cjson,
  ]);
  if (!dependency.ok) return dependency;
  const options = [
    '-std=c11',
    '-O2',
    '-ffp-contract=off',
    ...WARNINGS,
    '-Werror',
    '-Isrc',
    '-isystem',
    'build/deps/cjson',
  ];
  return captureAside(compiler, [
    ...options,
    ...sources,
    cjson,
    '-pthread',
    '-lm',
    '-o',
    `build/plain/qwen2-${compiler}`,
  ]);
}

/** No function of libm but the exactly rounded ones: others differ from one C library to the next. */
async function noLibm() {
  const inexact = /^(a?(sin|cos|tan)h?|atan2|exp2?|expm1|log(2|10|1p)?|pow|cbrt|hypot|erfc?|[lt]gamma|fma)[fl]?$/;
  const faults = [];
  for (const [object, file] of Object.entries(nativeObjects())) {
    const names = capture('nm', ['-u', '--format=posix', object]).stdout.split('\n');
    for (const name of names.map((line) => line.split(' ')[0]).filter((one) => inexact.test(one))) {
      faults.push(`${file} calls ${name}()`);
    }
  }
  return verdict(faults);
}

/** The four builds export the same functions, which are those that js/worker/wasm.js lists. */
async function exportsAgree() {
  if (!existsSync(at('dist/qwen2.wasm'))) return { skipped: 'dist/ is not built' };
  const { EXPORTS } = await import(pathToFileURL(at('js/worker/wasm.js')).href);
  const listed = EXPORTS.map((name) => `qwx_${name}`);
  const faults = [];
  for (const build of WASM_BUILDS) {
    const exported = engineExports(build);
    for (const name of exported.filter((one) => !listed.includes(one)))
      faults.push(`js/worker/wasm.js does not list ${name} of ${build}.wasm`);
    for (const name of listed.filter((one) => !exported.includes(one)))
      faults.push(`${build}.wasm does not export ${name}`);
  }
  return verdict(faults);
}

/** Lockfiles name packages, never the host that they came from. */
function lockfilesNameNoHost() {
  const files = ['package-lock.json', 'scripts/setup/node24/package-lock.json'];
  return verdict(
    files
      .filter((file) => /"resolved": "\w+:/.test(readFileSync(at(file), 'utf8')))
      .map((file) => `${file} names a host`),
  );
}

/** What tests/fixtures/ carries is what shared/fixtures/ has, where that folder stands beside the project. */
function fixturesAreCopies() {
  if (!existsSync(SHARED_FIXTURES)) return { skipped: 'there is no ../shared/fixtures here' };
  const own = filesBelow('tests/fixtures', /./).filter((file) => statSync(at(file)).isFile());
  const copies = own
    .map((file) => path.relative('tests/fixtures', file))
    .filter((name) => !OWN_FIXTURES.includes(name));
  const differs = (name) => {
    const other = path.join(SHARED_FIXTURES, name);
    return !existsSync(other) || !readFileSync(other).equals(readFileSync(at('tests/fixtures', name)));
  };
  return verdict(copies.filter(differs).map((name) => `tests/fixtures/${name} is not the one of ../shared/fixtures`));
}

/** @typedef {{ name: string, run: () => Outcome | Promise<Outcome> }} Check */

/**
 * Of JavaScript alone.
 * @type {Check[]}
 */
export const JS_CHECKS = [
  { name: 'format of JavaScript', run: formatOfJs },
  { name: 'lint of JavaScript', run: linter },
  { name: 'types of JavaScript', run: () => types('tsconfig.json') },
  { name: 'types of tests', run: () => types('tests/tsconfig.json') },
];

/**
 * What to check, in order.
 * @type {Check[]}
 */
export const CHECKS = [
  { name: 'format of C', run: formatOfC },
  ...JS_CHECKS,
  { name: 'types of scripts', run: () => types('scripts/tsconfig.json') },
  { name: 'types against the contract', run: contract },
  { name: 'rooms', run: structure },
  { name: 'circles of calls', run: calls },
  { name: 'lists of files', run: fileLists },
  { name: 'plain compile, gcc', run: () => plainCompile('gcc') },
  { name: 'plain compile, clang', run: () => plainCompile('clang') },
  { name: 'no inexact libm', run: noLibm },
  { name: 'exports', run: exportsAgree },
  { name: 'lockfiles', run: lockfilesNameNoHost },
  { name: 'copies of fixtures', run: fixturesAreCopies },
];
