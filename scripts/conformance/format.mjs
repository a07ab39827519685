// format/ of the fixtures: regular expressions, choices, GBNF, byte and token masks, fewest tokens to the end, MaskBench and the
// JSON-Schema-Test-Suite, asked of tests/c/format_probe.c. Where a folder lacks a file, that part is left out.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { at, captureAside, say } from '../lib/run.mjs';

/** @typedef {{ code?: string, error?: string, ok?: boolean, ms?: number, lives?: boolean, end?: boolean, bytes?: any, mask?: string, tokens?: number }} Answer */

/** Questions that are asked in one run of the probe; what is to be done with each answer stands beside it. */
export class Questions {
  /** @type {Buffer[]} */
  parts = [];
  /** @type {Array<(answer: Answer) => void>} */
  readers = [];

  /** @param {string} word @param {string | Buffer} text @param {(answer: Answer) => void} [read] */
  ask(word, text = '', read = () => {}) {
    const bytes = Buffer.from(text);
    this.parts.push(Buffer.from(`${word} ${bytes.length}\n`), bytes, Buffer.from('\n'));
    this.readers.push(read);
  }

  /** The state behind a text from the start on. */
  walk(text, read) {
    this.ask('start');
    this.ask('text', text, read);
  }

  /** Whether the text, or the tokens and texts of a list, are taken to the end. */
  takes(text, read) {
    if (!Array.isArray(text)) return this.walk(text, ({ lives, end, error }) => read(!error && lives && end, error));
    this.ask('start', '', ({ lives, end, error }) => !text.length && read(!error && lives && end, error));
    text.forEach((part, i) =>
      this.ask(
        typeof part === 'string' ? 'text' : 'token',
        part.token === undefined ? part : `${part.token}`,
        (answer) => {
          if (i === text.length - 1) read(!answer.error && answer.lives && answer.end, answer.error);
        },
      ),
    );
  }

  /** Runs the probe over all that was asked. @param {string[]} probe its command and first arguments */
  async run(probe, model) {
    const file = at('build/tmp', `questions-${process.pid}-${Math.random().toString(36).slice(2)}`);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, Buffer.concat(this.parts));
    const [program, ...args] = probe;
    const { ok, text: words } = await captureAside(program, [...args, file, model, `${file}-answers`], {
      seconds: 1800,
    });
    const text = existsSync(`${file}-answers`) ? readFileSync(`${file}-answers`, 'utf8') : '';
    for (const name of [file, `${file}-answers`]) rmSync(name, { force: true });
    const [about, ...answers] = text.trimEnd().split('\n');
    if (!ok || answers.length !== this.readers.length)
      throw new Error(
        `the probe ended after ${answers.length} of ${this.readers.length} answers: ${words}${text.slice(-300)}`,
      );
    answers.forEach((line, i) => this.readers[i](JSON.parse(line)));
    return JSON.parse(about);
  }
}

/** The lines of a .jsonl file, gzipped or not, as text; none where it is not there. */
export function linesOf(folder, name) {
  const file = path.join(folder, 'format', name);
  if (!existsSync(file)) return [];
  const bytes = readFileSync(file);
  const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  return text.split('\n').filter(Boolean);
}

/** Where the JSON value that begins at i ends. */
function endOfValue(text, i) {
  if (text[i] === '"') {
    for (i++; text[i] !== '"'; i++) if (text[i] === '\\') i++;
    return i + 1;
  }
  if (text[i] !== '{' && text[i] !== '[') {
    while (i < text.length && !',}] \n'.includes(text[i])) i++;
    return i;
  }
  for (let depth = 0; ; i++) {
    if (text[i] === '"') i = endOfValue(text, i) - 1;
    else if ('{['.includes(text[i])) depth++;
    else if ('}]'.includes(text[i]) && --depth === 0) return i + 1;
  }
}

/** The members of an object or items of an array as they are written: JSON.parse would reorder keys and round numbers. */
export function partsOf(text) {
  /** @type {Map<string, string>} */
  const parts = new Map();
  let i = 1;
  for (let n = 0; text[i] !== '}' && text[i] !== ']'; n++) {
    while (' \n,'.includes(text[i])) i++;
    let key = String(n);
    if (text[0] === '{') {
      const end = endOfValue(text, i);
      key = JSON.parse(text.slice(i, end));
      i = end;
      while (' \n:'.includes(text[i])) i++;
    }
    const end = endOfValue(text, i);
    parts.set(key, text.slice(i, end));
    i = end;
    while (' \n'.includes(text[i])) i++;
  }
  return parts;
}

export const asSchema = (schema) => `{"type":"json_schema","json_schema":{"schema":${schema}}}`;
const short = (value) => JSON.stringify(value)?.slice(0, 200);

function askRegex(q, counter, folder) {
  for (const line of linesOf(folder, 'regex/regex.jsonl')) {
    const { mode, regex, flags, expect, accept = [], reject = [] } = JSON.parse(line);
    if (mode !== 'whole') continue;
    const where = `format/regex ${regex}`;
    let made = false;
    q.ask('format', JSON.stringify({ type: 'regex', regex, ...(flags === undefined ? {} : { flags }) }), (answer) => {
      counter.where = where;
      made = Boolean(answer.ok);
      if (expect === 'ok') counter.check(made, `refused: ${answer.error}`);
      if (expect === 'refuse') counter.check(answer.code === 'usage', 'was taken, and should be refused');
    });
    for (const [texts, wanted] of [
      [accept, true],
      [reject, false],
    ])
      for (const text of texts)
        q.takes(text, (got) => {
          counter.where = where;
          if (made) counter.check(got === wanted, `${short(text)} is ${got ? '' : 'not '}taken`);
        });
  }
}

function askChoice(q, counter, folder) {
  for (const line of linesOf(folder, 'choice/choice.jsonl')) {
    const one = JSON.parse(line);
    const file = one.choices_file;
    const choices = file ? linesOf(folder, `choice/${path.basename(file)}`) : one.choices;
    const where = `format/choice ${one.name}`;
    q.ask('format', JSON.stringify({ type: 'choice', choices }), (answer) => {
      counter.where = where;
      counter.check(Boolean(answer.ok) === !one.refused, `${answer.ok ? 'taken' : answer.error}`);
    });
    if (one.refused) continue;
    for (const [texts, wanted] of [
      [one.accept ?? [], true],
      [one.reject ?? [], false],
    ])
      for (const text of texts)
        q.takes(text, (got) => {
          counter.where = where;
          counter.check(got === wanted, `${short(text)} is ${got ? '' : 'not '}taken`);
        });
  }
}

function askGbnf(q, counter, folder) {
  for (const line of linesOf(folder, 'gbnf/gbnf.jsonl')) {
    const { name, grammar, root, accept = [], reject = [], refused } = JSON.parse(line);
    const where = `format/gbnf ${name}`;
    q.ask('format', JSON.stringify({ type: 'grammar', grammar, ...(root ? { root } : {}) }), (answer) => {
      counter.where = where;
      counter.check(Boolean(answer.ok) === !refused, answer.ok ? 'was taken' : answer.error);
    });
    if (refused) continue;
    for (const [texts, wanted] of [
      [accept, true],
      [reject, false],
    ])
      for (const text of texts)
        q.takes(text, (got, error) => {
          counter.where = where;
          counter.check(got === wanted, `${short(text)} is ${got ? '' : 'not '}taken (${error ?? 'no error'})`);
        });
  }
}

/** "20-21,c3" as the probe tells sets of bytes. */
function bytesOf(ranges) {
  const set = new Uint8Array(32);
  for (const range of ranges.split(',').filter(Boolean)) {
    const [first, last = first] = range.split('-').map((hex) => parseInt(hex, 16));
    for (let b = first; b <= last; b++) set[b >> 3] |= 1 << (b & 7);
  }
  return Buffer.from(set).toString('hex');
}

const MASK_BYTES = 18_992;

/** A mask of the probe in the bytes of the fixtures: ids 0 to 151,935, whatever the vocabulary's end. */
function maskBytes(hex) {
  const bytes = Buffer.alloc(MASK_BYTES);
  Buffer.from(hex, 'hex').copy(bytes, 0, 0, MASK_BYTES);
  return bytes;
}

function checkMask(counter, hex, want) {
  const bytes = maskBytes(hex);
  let count = 0;
  for (const byte of bytes) for (let b = byte; b; b &= b - 1) count++;
  const some = (want.all ?? want.some ?? []).filter((id) => !((bytes[id >> 3] >> (id & 7)) & 1));
  counter.check(
    createHash('sha256').update(bytes).digest('hex') === want.sha256,
    `mask of ${count} tokens, wanted ${want.count}; missing ${some.slice(0, 10).join(', ')}`,
  );
}

function askMasks(q, counter, folder, hasVocabulary) {
  for (const line of linesOf(folder, 'masks/masks.jsonl')) {
    const { name, response_format, whitespace, prefix, prefix_hex, possible, bytes, end, mask, may_be_refused } =
      JSON.parse(line);
    const where = `format/masks ${name} after ${short(prefix ?? prefix_hex)}`;
    const raw = partsOf(line).get('response_format') ?? JSON.stringify(response_format);
    let refused = false;
    q.ask('whitespace', whitespace ?? 'bounded');
    q.ask('format', raw, (answer) => {
      counter.where = where;
      refused = !answer.ok;
      counter.check(!refused || (may_be_refused && answer.code === 'usage'), `refused: ${answer.error}`);
    });
    q.walk(prefix_hex === undefined ? prefix : Buffer.from(prefix_hex, 'hex'), ({ lives, error }) => {
      counter.where = where;
      if (!refused) counter.check(!error && lives === (possible !== false), `lives: ${lives} ${error ?? ''}`);
    });
    if (possible === false) continue;
    q.ask('bytes', '', (answer) => {
      counter.where = where;
      if (refused) return;
      counter.equal('bytes', answer.bytes, bytesOf(bytes));
      counter.equal('end', answer.end, end);
    });
    if (mask && hasVocabulary)
      q.ask('mask', '', (answer) => {
        counter.where = where;
        if (refused) return;
        if (counter.check(!answer.error, answer.error)) checkMask(counter, answer.mask, mask);
      });
  }
}

function askFinish(q, counter, folder) {
  for (const line of linesOf(folder, 'masks/finish.jsonl')) {
    const { whitespace, prefix, fewest_bytes, fewest_tokens } = JSON.parse(line);
    q.ask('whitespace', whitespace ?? 'bounded');
    q.ask('format', partsOf(line).get('response_format'));
    q.walk(prefix);
    q.ask('finish', '', ({ bytes, tokens }) => {
      counter.where = `format/masks/finish after ${short(prefix)}`;
      counter.equal('fewest bytes', bytes, fewest_bytes);
      counter.equal('fewest tokens', tokens, fewest_tokens);
    });
  }
}

/** What chat() makes of tool_choice (js/page/answer-parts.js); 'auto' is no form. */
function askTools(q, counter, folder, hasVocabulary) {
  for (const line of linesOf(folder, 'masks/tool-masks.jsonl')) {
    const { tools, tool_choice, parallel_tool_calls, prefix, bytes, tokens, end, mask } = JSON.parse(line);
    if (tool_choice === 'auto' || !hasVocabulary) continue;
    const where = `format/masks/tools after ${short(prefix)}`;
    const named = typeof tool_choice === 'object' ? tool_choice.function.name : undefined;
    const chosen = tools.map((tool) => tool.function).filter(({ name }) => named === undefined || name === named);
    const form = {
      type: 'tools',
      tools: chosen.map(({ name, parameters }) => ({ name, parameters: { ...parameters, type: 'object' } })),
      parallel: parallel_tool_calls,
    };
    q.ask('whitespace', 'bounded');
    q.ask('format', JSON.stringify(form), (answer) => {
      counter.where = where;
      counter.check(Boolean(answer.ok), `refused: ${answer.error}`);
    });
    q.ask('start');
    for (const part of prefix) q.ask(typeof part === 'string' ? 'text' : 'token', `${part}`);
    q.ask('bytes', '', (answer) => {
      counter.where = where;
      const special = tokens.length ? 'ff' : '';
      counter.equal('bytes', answer.bytes, bytesOf([bytes, special].filter(Boolean).join()));
      counter.equal('end', answer.end, end);
    });
    q.ask('mask', '', (answer) => {
      counter.where = where;
      const got = maskBytes(answer.mask);
      for (const id of tokens) counter.check(Boolean((got[id >> 3] >> (id & 7)) & 1), `token ${id} is not allowed`);
      for (const id of tokens) got[id >> 3] &= ~(1 << (id & 7)); // the mask is of ordinary ones
      if (mask) checkMask(counter, got.toString('hex'), mask);
    });
  }
}

const MASKBENCH_SHARE = 0.9;
const REJECTED_SHARE = 0.005;
const SUITE_SHARE = 0.77;

const percentile = (sorted, p) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? 0;

/**
 * Schemas right on every instance: at least 90 %; no invalid instance accepted. A valid one is rejected as it is written where
 * its keys or numbers are spelled otherwise than ours; with its keys in any order it must be taken in nearly all.
 */
function askMaskBench(q, counter, folder, share, tell) {
  const lines = linesOf(folder, 'maskbench/maskbench.jsonl.gz').filter((_, i) => i % share === 0);
  if (!lines.length) return;
  /** @type {{ right: number, reordered: number, refused: number, accepted: string[], rejected: string[], slow: string[] }} */
  const tally = { right: 0, reordered: 0, refused: 0, accepted: [], rejected: [], slow: [] };
  /** @type {number[]} */
  const times = [];
  q.ask('whitespace', 'bounded');
  for (const line of lines) {
    const parts = partsOf(line);
    const name = JSON.parse(parts.get('name') ?? '');
    let state = 'right';
    q.ask('format', asSchema(parts.get('schema')), ({ ok, ms }) => {
      if (!ok) state = 'refused';
      times.push(ms);
      if (ms > 1000) tally.slow.push(`${name} (${Math.round(ms)} ms)`);
    });
    for (const [, test] of partsOf(parts.get('tests') ?? '[]')) {
      const { valid, data, disputed } = Object.fromEntries(partsOf(test));
      if (disputed) continue;
      let written = false;
      q.takes(data, (got) => {
        written = got;
        if (state !== 'refused' && got && valid === 'false') state = 'accepted';
      });
      if (valid === 'true')
        q.ask('value', data, ({ lives, end }) => {
          if (written || state === 'refused' || state === 'accepted') return;
          if (!(lives && end)) state = 'rejected';
          else if (state === 'right') state = 'reordered';
        });
    }
    q.ask('start', '', () => {
      if (state === 'accepted' || state === 'rejected') tally[state].push(name);
      else tally[state]++;
    });
  }
  tell(() => {
    times.sort((a, b) => a - b);
    say(
      `format/maskbench: ${tally.right} of ${lines.length} schemas right (${((100 * tally.right) / lines.length).toFixed(1)} %), ` +
        `${tally.reordered} more with keys in our order, ${tally.refused} refused, invalid accepted in ` +
        `${tally.accepted.length}, valid rejected in ${tally.rejected.length}; ` +
        `compiled in ${percentile(times, 0.5).toFixed(2)} ms (p50), ${percentile(times, 0.99).toFixed(1)} (p99), ${times.at(-1)?.toFixed(0)} at most`,
    );
    if (process.env.QW_NAMES) say(JSON.stringify(tally, null, 1));
    counter.where = 'format/maskbench';
    counter.check(tally.right >= MASKBENCH_SHARE * lines.length, `${tally.right} of ${lines.length} schemas are right`);
    counter.check(!tally.accepted.length, `invalid instances are accepted: ${tally.accepted.slice(0, 20).join(', ')}`);
    counter.check(
      tally.rejected.length <= REJECTED_SHARE * lines.length,
      `valid instances are rejected in ${tally.rejected.length}: ${tally.rejected.slice(0, 20).join(', ')}`,
    );
    counter.passed += tally.right + tally.reordered;
  });
}

/** A value and its keys in every order, where an object has at most five of them. */
function* spellings(value) {
  if (Array.isArray(value)) {
    if (!value.length) return yield '[]';
    for (const first of spellings(value[0]))
      for (const rest of spellings(value.slice(1))) yield `[${first}${rest === '[]' ? '' : ','}${rest.slice(1)}`;
    return;
  }
  if (value === null || typeof value !== 'object') return yield JSON.stringify(value);
  const keys = Object.keys(value);
  for (const order of keys.length <= 5 ? permutations(keys) : [keys]) yield* members(value, order, '{');
}

function* members(value, keys, before) {
  if (!keys.length) return yield `${before}}`;
  const [key, ...others] = keys;
  for (const one of spellings(value[key]))
    yield* members(value, others, `${before}${before === '{' ? '' : ','}${JSON.stringify(key)}:${one}`);
}

function* permutations(list) {
  if (list.length < 2) return yield list;
  for (let i = 0; i < list.length; i++)
    for (const rest of permutations(list.filter((_, k) => k !== i))) yield [list[i], ...rest];
}

/** The draft of a set, said in a schema that does not say it. */
function inDraft(schema, set) {
  if (set !== 'draft7' || !schema.startsWith('{') || partsOf(schema).has('$schema')) return schema;
  return `{"$schema":"http://json-schema.org/draft-07/schema#"${schema === '{}' ? '' : ','}${schema.slice(1)}`;
}

const MOST_SPELLINGS = 240;

function spellingsOf(value) {
  const all = [];
  for (const text of spellings(value)) {
    all.push(text);
    if (all.length === MOST_SPELLINGS) break;
  }
  return all;
}

function askSuite(q, counter, folder, tell) {
  const lines = linesOf(folder, 'suite/json-schema-test-suite.jsonl.gz');
  if (!lines.length) return;
  /** @type {Record<string, { tests: number, right: number, refused: number, accepted: string[], rejected: string[] }>} */
  const sets = {};
  q.ask('whitespace', 'bounded');
  for (const line of lines) {
    const { set, file, description, tests } = JSON.parse(line);
    const tally = (sets[set] ??= { tests: 0, right: 0, refused: 0, accepted: [], rejected: [] });
    const schema = inDraft(partsOf(line).get('schema'), set);
    let refused = false;
    const read = ({ ok, error }) => {
      // Of a schema that nothing meets every instance is invalid, which is what was to be told.
      refused = !ok && !/no value meets/.test(error ?? '');
    };
    if (set.endsWith('format')) q.ask('format', asSchema(schema), read);
    else q.ask('schema', schema, read);
    for (const { description: test, valid, data } of tests) {
      let taken = false;
      for (const text of spellingsOf(data)) q.takes(text, (got) => (taken ||= got));
      q.ask('start', '', () => {
        tally.tests++;
        const name = `${file}: ${description}: ${test}`;
        if (refused) tally.refused++;
        else if (taken === valid) tally.right++;
        else (taken ? tally.accepted : tally.rejected).push(name);
      });
    }
  }
  tell(() => {
    for (const [set, { tests, right, refused, accepted, rejected }] of Object.entries(sets)) {
      say(
        `format/suite ${set}: ${right} of ${tests} right (${((100 * right) / tests).toFixed(1)} %), ${refused} refused, ` +
          `${accepted.length} invalid accepted, ${rejected.length} valid rejected`,
      );
      if (process.env.QW_NAMES) say(JSON.stringify({ accepted, rejected }, null, 1));
      counter.where = `format/suite ${set}`;
      if (!set.endsWith('format')) counter.check(right >= SUITE_SHARE * tests, `${right} of ${tests} tests are right`);
      counter.check(!accepted.length, `invalid values are accepted: ${accepted.slice(0, 10).join('; ')}`);
      counter.passed += right;
    }
  });
}

/**
 * @param {{ folder: string, counter: import('./counter.mjs').Counter, probe: string[], model: string, hasVocabulary: boolean, share: number }} options
 * model: the file whose vocabulary is used; hasVocabulary: it is the one of the masks; share: of so many of MaskBench's
 * schemas one is asked
 */
export async function runFormat({ folder, counter, probe, model, hasVocabulary, share }) {
  const q = new Questions();
  /** @type {Array<() => void>} */
  const after = [];
  askRegex(q, counter, folder);
  askChoice(q, counter, folder);
  if (hasVocabulary) askGbnf(q, counter, folder);
  askMasks(q, counter, folder, hasVocabulary);
  askTools(q, counter, folder, hasVocabulary);
  if (hasVocabulary) askFinish(q, counter, folder);
  askSuite(q, counter, folder, (tell) => after.push(tell));
  askMaskBench(q, counter, folder, share, (tell) => after.push(tell));
  if (!q.readers.length) return;
  await q.run(probe, model);
  for (const tell of after) tell();
}
