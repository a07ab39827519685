// The structure that the listing shows: which room may use which, that no two files of a room need each other, and how long
// a file may get. src/README.md and js/README.md say what the rooms are for.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { filesBelow } from './files.mjs';
import { at, capture } from './run.mjs';

/**
 * Rooms of src/, each with those it may include beside itself. src/qw.h is a room of its own: statuses and texts, which it
 * shares with the hosts, are base's.
 */
const C_ROOMS = {
  'qw.h': ['base'],
  base: [],
  tokenizer: ['base'],
  format: ['tokenizer', 'base'],
  kernels: ['base'],
  model: ['kernels', 'tokenizer', 'base'],
  files: ['model', 'kernels', 'tokenizer', 'base'],
  generation: ['model', 'kernels', 'format', 'tokenizer', 'base'],
  engine: ['qw.h', 'generation', 'files', 'model', 'kernels', 'format', 'tokenizer', 'base'],
  hosts: ['qw.h', 'base'],
};

/** The same for js/: what stands at its top is two rooms, what all may use and the entries. */
const JS_ROOMS = {
  common: [],
  weights: ['common'],
  page: ['weights', 'common'],
  worker: ['weights', 'common'],
  sw: [],
  node: ['worker', 'weights', 'common'],
  element: ['entries', 'common'],
  openai: ['page', 'common'],
  entries: ['page', 'node', 'element', 'openai', 'common'],
  cli: ['entries', 'weights', 'common'],
};
const JS_COMMON = ['errors.js', 'names.js', 'protocol.js', 'settings.js', 'types.js', 'host.js'];

const LONGEST_FILE = 500;
const LONGEST_FUNCTION = 50;

/** The room of a file below `top`. */
function roomOf(file, top) {
  const [first, ...rest] = path.relative(top, file).split(path.sep);
  if (rest.length) return first;
  if (top === 'src') return first;
  return JS_COMMON.includes(first) ? 'common' : 'entries';
}

/** What a C file includes of ours, as paths from the root. */
const includesOf = (text) => [...text.matchAll(/^\s*#\s*include\s+"([^"]+)"/gm)].map(([, name]) => name);

/** What a module imports of ours, as paths from the root; imports of types count too. */
function importsOf(file, text) {
  const names = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.{1,2}\/[^']+)'/g)].map(([, name]) => name);
  return names.map((name) => path.join(path.dirname(file), name)).filter((name) => name.startsWith('js/'));
}

/** A circle in a graph of names, as a list of names, or null. */
function circleIn(graph) {
  const done = new Set();
  const walk = (name, trail) => {
    if (trail.includes(name)) return [...trail.slice(trail.indexOf(name)), name];
    if (done.has(name)) return null;
    for (const next of graph.get(name) ?? []) {
      const found = walk(next, [...trail, name]);
      if (found) return found;
    }
    done.add(name);
    return null;
  };
  for (const name of graph.keys()) {
    const found = walk(name, []);
    if (found) return found;
  }
  return null;
}

/** Every circle, one after the other: the last arrow of each is taken out until none is left. */
function circlesIn(graph, what) {
  const faults = [];
  for (let circle = circleIn(graph); circle; circle = circleIn(graph)) {
    faults.push(`${what}: ${circle.join(' -> ')}`);
    graph.get(circle.at(-2))?.delete(circle.at(-1));
  }
  return faults;
}

/** @returns {Map<string, Set<string>>} */
const emptyGraph = (names) => new Map(names.map((name) => [name, new Set()]));

const moduleOf = (file) => file.replace(/\.\w+$/, '');

function wrongRoom(rooms, top, file, target) {
  const [own, other] = [roomOf(file, top), roomOf(target, top)];
  if (!rooms[own]) return [`${file}: ${own} is no room that scripts/lib/structure.mjs knows`];
  if (own === other || rooms[own].includes(other)) return [];
  return [`${file}: ${own} may not use ${other} (${target})`];
}

const isLong = (text) => text.split('\n').length - 1 > LONGEST_FILE;

/** Functions of C that one cannot see whole. clang-format puts their outer braces alone at the beginning of a line. */
function longFunctions(file, text) {
  const faults = [];
  let start = 0;
  text.split('\n').forEach((line, i) => {
    if (line === '{') start = i;
    else if (line === '}' && i - start + 1 > LONGEST_FUNCTION)
      faults.push(`${file}:${start + 1}: a function of ${i - start + 1} lines, at most ${LONGEST_FUNCTION}`);
  });
  return faults;
}

/** What is too long to be seen whole, and banners: a part that wants one wants a file. */
function sizesOfC(file, text) {
  const faults = longFunctions(file, text);
  if (isLong(text)) faults.push(`${file}: longer than ${LONGEST_FILE} lines`);
  if (/^\/[*/] ?[-=*#]{3}/m.test(text)) faults.push(`${file}: has a banner; a part of it that wants one wants a file`);
  return faults;
}

/** Faults of src/, and what is too long in its tests, as sentences. */
export function faultsOfC() {
  const files = filesBelow('src', /\.[ch]$/);
  const graph = emptyGraph(files.map(moduleOf));
  const uses = (file, target) => graph.get(moduleOf(file))?.add(moduleOf(target));
  const faults = filesBelow('tests/c', /\.[ch]$/).flatMap((file) => sizesOfC(file, readFileSync(at(file), 'utf8')));
  for (const file of files) {
    const text = readFileSync(at(file), 'utf8');
    faults.push(...sizesOfC(file, text));
    for (const name of includesOf(text)) {
      if (name === 'cJSON.h') {
        if (file !== 'src/base/json.c') faults.push(`${file}: only json.c includes cJSON.h`);
        continue;
      }
      const target = `src/${name}`;
      faults.push(...wrongRoom(C_ROOMS, 'src', file, target));
      if (moduleOf(target) !== moduleOf(file)) uses(file, target);
    }
    if (/^\s*#\s*include\s+<emscripten/m.test(text) && file !== 'src/hosts/wasm.c')
      faults.push(`${file}: only wasm.c includes emscripten.h`);
  }
  return [...faults, ...circlesIn(graph, 'includes')];
}

/** The names that an object defines and those that it leaves to others. */
function symbolsOf(object) {
  const lines = capture('nm', ['--format=posix', object]).stdout.split('\n');
  const names = (kinds) => lines.filter((line) => kinds.test(line)).map((line) => line.split(' ')[0]);
  return { defined: names(/^\S+ [TDRBC] /), wanted: names(/^\S+ U/) };
}

/** Files that call each other, as the linker sees them. objects: file of src/ by path of its object. */
export function circlesOfCalls(objects) {
  const graph = emptyGraph(Object.values(objects).map(moduleOf));
  const symbols = Object.entries(objects).map(([object, file]) => ({ own: moduleOf(file), ...symbolsOf(object) }));
  const home = new Map(symbols.flatMap(({ own, defined }) => defined.map((name) => [name, own])));
  for (const { own, wanted } of symbols)
    for (const name of wanted) if (home.has(name) && home.get(name) !== own) graph.get(own)?.add(home.get(name));
  return circlesIn(graph, 'calls');
}

/** Faults of js/ as sentences. */
export function faultsOfJs() {
  const files = filesBelow('js', /\.(js|mjs)$/);
  const graph = emptyGraph(files);
  const faults = [];
  for (const file of files) {
    const text = readFileSync(at(file), 'utf8');
    if (isLong(text)) faults.push(`${file}: longer than ${LONGEST_FILE} lines`);
    for (const target of importsOf(file, text)) {
      faults.push(...wrongRoom(JS_ROOMS, 'js', file, target));
      graph.get(file)?.add(target);
    }
  }
  return [...faults, ...circlesIn(graph, 'imports')];
}
