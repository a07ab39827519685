/**
 * Options of the command line: settings and load options keep the names that the API gives them. A text that is not
 * what its option wants is a UsageError; whether a number makes sense is for the engine to say.
 */
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { nearName } from '../names.js';
import { GROUPS, SETTINGS as ALL } from '../settings.js';

/** The command line itself is wrong: exit code 2. */
export class UsageError extends Error {}

/**
 * How the text of an option becomes a value. strings: may be given several times.
 * @typedef {'number' | 'auto' | 'boolean' | 'json' | 'text' | 'strings' | 'cache' | 'flag'} Kind
 * @typedef {Record<string, Kind>} Kinds
 */

/** @type {Kinds} */
export const MODEL = { model: 'strings', cache: 'cache', sha256: 'text' };

/** @type {Kinds} */
export const LOAD = {
  contextLength: 'number',
  maxRows: 'number',
  threads: 'auto',
  simd: 'text',
  kvType: 'text',
  quantize: 'text',
};

/** @type {Record<import('../settings.js').SettingKind, Kind>} */
const KINDS = {
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  ids: 'json',
  json: 'json',
  text: 'text',
  strings: 'strings',
  choice: 'text',
};

/** @param {(setting: import('../settings.js').Setting) => boolean} which */
const settingKinds = (which) =>
  Object.fromEntries(
    Object.entries(ALL)
      .filter(([, setting]) => which(setting))
      .map(([name, { kind }]) => [name, KINDS[kind]]),
  );

/** @type {Kinds} */
export const SETTINGS = settingKinds(({ group }) => group !== 'chat');

/** @type {Kinds} Of conversations. */
export const CHAT = settingKinds(({ group }) => group === 'chat');

/** @type {Kinds} What every command that runs a model knows. */
export const RUN = { ...MODEL, ...LOAD, ...SETTINGS, json: 'flag', stats: 'flag' };

/**
 * @param {string} name
 * @param {Kind} kind
 * @param {string} text
 */
function convert(name, kind, text) {
  /** @param {string} wanted */
  const wrong = (wanted) => new UsageError(`--${name} wants ${wanted}, got "${text}"`);
  if (kind === 'boolean') {
    if (text !== 'true' && text !== 'false') throw wrong('true or false');
    return text === 'true';
  }
  if (kind === 'number' || (kind === 'auto' && text !== 'auto')) {
    const value = Number(text);
    if (text.trim() === '' || !Number.isFinite(value)) throw wrong(kind === 'auto' ? "a number or 'auto'" : 'a number');
    return value;
  }
  if (kind === 'json') {
    try {
      return JSON.parse(text);
    } catch {
      throw wrong('JSON, such as [1, 2]');
    }
  }
  if (kind === 'cache') return text === 'false' ? false : text;
  return text;
}

/** One letter, by llama.cpp's and other programs' use. */
const LETTERS = /** @type {Record<string, string>} */ ({
  m: 'model',
  p: 'prompt',
  n: 'max_new_tokens',
  s: 'seed',
  c: 'contextLength',
  t: 'threads',
});

/**
 * @param {Error} error of parseArgs
 * @param {string[]} known
 */
function parseError({ message }, known) {
  const [, option, name] = /^Unknown option '(--?([^']+))'/.exec(message) ?? [];
  if (!option) return new UsageError(message);
  const near = option.startsWith('--') ? nearName(name, known) : LETTERS[name];
  const hint = near && known.includes(near) ? `did you mean --${near}?` : '--help lists the options';
  return new UsageError(`there is no option ${option}: ${hint}`);
}

/**
 * @param {string[]} args
 * @param {Kinds} kinds The options that the command knows.
 * @param {number} [words] How many words beside options it takes.
 * @returns {{ values: Record<string, any>, words: string[] }}
 */
export function parseOptions(args, kinds, words = 0) {
  const options = Object.fromEntries(
    Object.entries(kinds).map(([name, kind]) => [
      name,
      kind === 'flag'
        ? { type: /** @type {const} */ ('boolean') }
        : { type: /** @type {const} */ ('string'), multiple: true },
    ]),
  );
  let parsed;
  try {
    parsed = parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw parseError(/** @type {Error} */ (error), Object.keys(kinds));
  }
  /** @type {Record<string, any>} */
  const values = {};
  for (const [name, given] of Object.entries(parsed.values)) {
    const kind = kinds[name];
    if (kind === 'flag' || kind === 'strings') values[name] = given;
    else if (Array.isArray(given) && given.length > 1) throw new UsageError(`--${name} is given ${given.length} times`);
    else values[name] = convert(name, kind, String(Array.isArray(given) ? given[0] : given));
  }
  const surplus = parsed.positionals[words];
  if (surplus !== undefined) throw new UsageError(`"${surplus}" is neither an option nor the value of one`);
  return { values, words: parsed.positionals };
}

/**
 * The values that belong to one table of kinds.
 * @param {Record<string, any>} values
 * @param {...Kinds} tables
 */
export function pick(values, ...tables) {
  const names = tables.flatMap((table) => Object.keys(table)).filter((name) => name !== 'model');
  return Object.fromEntries(names.filter((name) => name in values).map((name) => [name, values[name]]));
}

/** Where the model that comes with the project is, seen from dist/. */
const BUNDLED = ['../models/austen-tiny-q8_0.gguf', 'models/austen-tiny-q8_0.gguf'];

/**
 * The source that --model names; without it the bundled model, where it can be found.
 * @param {string[] | undefined} models
 * @returns {import('../node.js').ModelSource}
 */
export function modelSource(models) {
  if (!models) {
    const found = BUNDLED.map((name) => new URL(name, import.meta.url)).find((url) => existsSync(url));
    if (found) return fileURLToPath(found);
    throw new UsageError('--model FILE, URL or FOLDER is needed: the bundled model is not beside this program');
  }
  const sources = models.map((model) => (isFolder(model) && !model.endsWith('/') ? `${model}/` : model));
  return sources.length === 1 ? sources[0] : sources;
}

/** @param {string} name */
const isFolder = (name) => statSync(name, { throwIfNoEntry: false })?.isDirectory() ?? false;

/**
 * @param {string} title
 * @param {Kinds} kinds
 */
const nameList = (title, kinds) => {
  const lines = [''];
  for (const name of Object.keys(kinds)) {
    if (lines[lines.length - 1].length + name.length > 76) lines.push('');
    lines[lines.length - 1] += ` --${name}`;
  }
  return `${title}\n ${lines.join('\n ')}\n`;
};

export const MODEL_HELP = `Model:
  --model FILE|URL|FOLDER  a GGUF file, a manifest or a checkpoint folder; several times for shards
                           (default: the bundled austen-tiny, where it can be found)
  --cache FOLDER|false     where downloads are kept
  --sha256 HASH            what the file must have
`;
export const LOAD_HELP = nameList('Loading, by the names of the API:', LOAD);

/**
 * A line for each setting of the groups.
 * @param {import('../settings.js').SettingGroup[]} groups
 */
const settingsList = (groups) =>
  groups
    .flatMap((group) => [
      `  ${GROUPS[group]}`,
      ...Object.entries(ALL)
        .filter(([, setting]) => setting.group === group)
        .map(([name, { hint }]) => `    --${name.padEnd(34)}${hint}`),
    ])
    .join('\n');

export const SETTINGS_HELP = `Settings, by the names of the API:
${settingsList(['length', 'choice', 'scores', 'end', 'run'])}
  Lists are JSON: --suppress_tokens "[1, 2]"; --stop_strings may be given several times.
`;
export const CHAT_HELP = `${settingsList(['chat'])}\n`;
