// The fixtures through the public API in Node: encode, decode, logits, hidden states, greedy, stopping, chat, and the hashes
// that the C runner prints too.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { plainMessages } from '../../js/page/plain.js';
import { renderTemplate } from '../../js/worker/template.js';
import { REAL_ROW, TINY_ROW, VARIANTS, exactHashes } from '../lib/exact.mjs';

/** fixtures/README.md, Tolerances. */
const LOGITS_TOLERANCE = 2e-4;
const LONG_LOGITS_TOLERANCE = 1e-3;
const HIDDEN_TOLERANCE = 2e-4;
const LONG_ROW = 100;

/** Of the constructs of templates. */
const MOST_REFUSED = 0.05;

const EXACT_FLOAT = { quantize: 'none', kvType: 'f32' };

const readJson = (...parts) => JSON.parse(readFileSync(path.join(...parts), 'utf8'));

const readLines = (...parts) =>
  readFileSync(path.join(...parts), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

/** Runs use with an engine that is closed afterwards. */
async function withEngine(Engine, source, options, use) {
  const engine = await Engine.load(source, options);
  try {
    return await use(engine);
  } finally {
    await engine.close();
  }
}

async function tokenizer({ Engine, counter, folder, model }) {
  const files = {
    encode: readLines(folder, 'tokenizer/encode.jsonl'),
    decode: readLines(folder, 'tokenizer/decode.jsonl'),
  };
  counter.where = 'api tokenizer';
  if (!model) return counter.skip(files.encode.length + files.decode.length, 'no vocabulary: --model FILE');
  await withEngine(Engine, model, { contextLength: 64, maxRows: 1 }, async (engine) => {
    for (const { group, text, ids, parse_special } of files.encode) {
      counter.where = `api tokenizer/encode ${group} ${JSON.stringify(text.slice(0, 40))}`;
      counter.sameIds('ids', await engine.tokenize(text, { parse_special }), ids);
    }
    for (const { ids, skip_special_tokens, text } of files.decode) {
      counter.where = `api tokenizer/decode of ${ids.length} ids from ${ids[0]} on`;
      counter.equal('text', await engine.detokenize(ids, { skip_special_tokens }), text);
    }
  });
}

/** The raw array that {file, shape} describes. */
function readFloats(folder, { file, shape }) {
  const bytes = readFileSync(path.join(folder, file));
  const floats = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const size = shape.reduce((product, n) => product * n, 1);
  if (floats.length !== size) throw new Error(`${file} holds ${floats.length} floats, its shape has ${size}`);
  return floats;
}

/** Rows without their left padding. */
const unpad = (rows, mask) => rows.map((row, i) => (mask ? row.filter((_, j) => mask[i][j] !== 0) : row));

async function compareGreedy({ counter }, engine, what, run, settings) {
  const rows = unpad(run.input_ids, run.attention_mask);
  const { padded_ids } = await engine.generate(rows, settings).result;
  counter.equal(`${what}: rows`, padded_ids.length, run.sequences.length);
  run.sequences.forEach((want, i) => counter.sameIds(`${what}, row ${i}`, padded_ids[i] ?? [], want));
}

async function compareLogits({ counter }, engine, folder, expected) {
  const { single, hidden, batch } = expected;
  const long = single.input_ids.length > LONG_ROW || batch.input_ids[0].length > LONG_ROW;
  const tolerance = long ? LONG_LOGITS_TOLERANCE : LOGITS_TOLERANCE;
  const all = await engine.forward({ input_ids: [single.input_ids] });
  counter.near('single', all.logits, readFloats(folder, single.logits), tolerance);
  counter.equal('shape', String(all.shape), String([1, ...single.logits.shape]));
  const states = await engine.forward({ input_ids: [hidden.input_ids], output_hidden_states: true });
  const got = Float32Array.from((states.hidden ?? []).flatMap((state) => Array.from(state)));
  counter.near('hidden', got, readFloats(folder, hidden.states), HIDDEN_TOLERANCE);
  for (const [key, logits_to_keep] of [
    ['logits_last', 1],
    ['logits_to_keep_3', 3],
  ]) {
    const { input_ids, attention_mask } = batch;
    const { logits, shape } = await engine.forward({ input_ids, attention_mask, logits_to_keep });
    counter.near(key, logits, readFloats(folder, batch[key]), tolerance);
    counter.equal(`${key}: shape`, String(shape), String(batch[key].shape));
  }
}

async function checkpoint(run, name, threads) {
  const { Engine, counter, folder: fixtures } = run;
  const folder = path.join(fixtures, 'checkpoints', name);
  const expected = readJson(folder, 'expected.json');
  const options = { ...EXACT_FLOAT, contextLength: 4096, threads };
  if (!expected.single) {
    const error = await Engine.load(`${folder}/`, options).then(
      (engine) => engine.close(),
      (reason) => reason,
    );
    return counter.check(
      error?.code === 'model' && error.message.includes('lm_head.weight'),
      `a head that is missing: got ${error?.code} (${error?.message}), wanted model and lm_head.weight`,
    );
  }
  await withEngine(Engine, `${folder}/`, options, async (engine) => {
    await compareLogits(run, engine, folder, expected);
    const { greedy, greedy_processors = [], greedy_file_defaults } = expected;
    const single = { input_ids: [greedy.single.input_ids], sequences: greedy.single.sequences };
    await compareGreedy(run, engine, 'greedy.single', single, greedy.settings);
    await compareGreedy(run, engine, 'greedy.batch', greedy.batch, greedy.settings);
    for (const part of greedy_processors) await compareGreedy(run, engine, part.name, part, part.settings);
    if (greedy_file_defaults) {
      const settings = { max_new_tokens: greedy_file_defaults.settings.max_new_tokens, do_sample: false };
      await compareGreedy(run, engine, 'greedy_file_defaults', greedy_file_defaults, settings);
    }
  });
}

const checkpointNames = (folder) =>
  readdirSync(path.join(folder, 'checkpoints')).filter((name) => !name.startsWith('.'));

async function checkpoints(run) {
  for (const name of checkpointNames(run.folder))
    for (const threads of run.quick ? [2] : [1, 2]) {
      const where = `api checkpoints/${name}, ${threads} thread${threads > 1 ? 's' : ''}`;
      await run.counter.try(where, () => checkpoint(run, name, threads));
    }
}

/** A stopped row of a batch without EOS ids: the reference lets it run on, so it is compared up to its stop. */
const runsOn = (line) =>
  line.input_ids.length > 1 && line.settings.stop_strings !== undefined && String(line.settings.eos_token_id) === '';

function compareStopping(counter, line, { sequences, padded_ids }) {
  const stops = [line.settings.stop_strings ?? []].flat();
  line.sequences.forEach((want, i) => {
    const { text, token_ids, finish_reason } = sequences[i];
    const stopped = finish_reason === 'stop_string';
    const end = stopped && runsOn(line) ? line.input_ids[i].length + token_ids.length : undefined;
    counter.sameIds(`row ${i}`, padded_ids[i].slice(0, end), want.slice(0, end));
    if (runsOn(line)) return;
    const whole = line.new_text_skip_special[i];
    if (!stopped) counter.equal(`text of row ${i}`, text, whole);
    else
      counter.check(
        whole.startsWith(text) && !stops.some((stop) => text.includes(stop)),
        `text of row ${i}: got ${JSON.stringify(text)}, wanted ${JSON.stringify(whole)} up to ${JSON.stringify(stops)}`,
      );
  });
}

async function stopping({ Engine, counter, folder }) {
  const lines = readLines(folder, 'stopping/cases.jsonl');
  for (const name of new Set(lines.map((line) => line.checkpoint)))
    await withEngine(Engine, `${path.join(folder, 'checkpoints', name)}/`, EXACT_FLOAT, async (engine) => {
      for (const line of lines.filter((one) => one.checkpoint === name))
        await counter.try(`api stopping/${line.name}`, async () => {
          const rows = unpad(line.input_ids, line.attention_mask);
          compareStopping(counter, line, await engine.generate(rows, line.settings).result);
        });
    });
}

/** Numbers as JavaScript spells them: a case with a note may differ in that, says the fixture, and in nothing else. */
const plainNumbers = (text) => text.replace(/-?\d+(\.\d+)?([eE][-+]?\d+)?/g, (number) => String(Number(number)));

async function chat({ Engine, counter, folder, model }) {
  const lines = readLines(folder, 'chat/cases.jsonl');
  counter.where = 'api chat';
  if (!model) return counter.skip(lines.length, 'needs the real model: --model FILE');
  await withEngine(Engine, model, { contextLength: 64, maxRows: 1 }, async (engine) => {
    for (const { name, template_name, messages, tools, add_generation_prompt, expected_text, note } of lines) {
      counter.where = `api chat/${name}`;
      const template = readFileSync(path.join(folder, 'chat', `${template_name}.jinja`), 'utf8');
      let got;
      try {
        got = await engine.applyChatTemplate(messages, { tools, add_generation_prompt, template });
      } catch (error) {
        if (expected_text !== undefined)
          counter.check(false, `threw ${error.message}, wanted ${JSON.stringify(expected_text)}`);
        else
          counter.check(error.code !== 'internal' && error.code !== 'closed', `threw ${error.code}: ${error.message}`);
        continue;
      }
      if (expected_text === undefined) counter.check(false, `got ${JSON.stringify(got)}, wanted an error`);
      else if (note) counter.equal('text', plainNumbers(got), plainNumbers(expected_text));
      else counter.equal('text', got, expected_text);
    }
  });
}

/** As renderTemplate() gives it, or null where it refuses. */
function rendered(template, variables) {
  try {
    return renderTemplate(template, variables, () => new Date(2026, 10, 3, 15, 4, 5));
  } catch (error) {
    if (error.code === 'usage' || error.code === 'model') return null;
    throw error;
  }
}

/** Single constructs: Jinja2's text, or a refusal of few; JSON cannot keep the 1.0 that one of them prints. */
async function constructs({ counter, folder }) {
  const lines = readLines(folder, 'chat/jinja.jsonl');
  const tokens = { bos_token: '', eos_token: '<|im_end|>', pad_token: '<|endoftext|>' };
  let refused = 0;
  for (const { name, template, messages, tools, text = null } of lines) {
    counter.where = `api jinja/${name}`;
    const got = rendered(template, { messages, tools, documents: null, add_generation_prompt: true, ...tokens });
    if (got === null && text !== null) refused++;
    else if (text === null) counter.equal('refused', got, null);
    else counter.equal('text', plainNumbers(got), plainNumbers(text));
  }
  counter.where = 'api jinja';
  counter.check(refused <= lines.length * MOST_REFUSED, `${refused} of ${lines.length} constructs are refused`);
}

/** The templates of models that think. */
async function reasoning({ counter, folder }) {
  const tokens = { bos_token: '<｜begin▁of▁sentence｜>', eos_token: '<｜end▁of▁sentence｜>' };
  for (const one of readLines(folder, 'reasoning/chat.jsonl')) {
    const { name, template_name, messages, add_generation_prompt, variables, expected_text = null } = one;
    const template = readFileSync(path.join(folder, 'reasoning', `${template_name}.jinja`), 'utf8');
    for (const [keepNulls, want] of [
      [false, expected_text],
      [true, one.expected_text_if_null_is_kept],
    ]) {
      if (want === undefined || messages.length === 0) continue;
      counter.where = `api reasoning/${template_name}: ${name}`;
      const all = { messages: plainMessages(messages, keepNulls), tools: null, add_generation_prompt, ...tokens };
      counter.equal('text', rendered(template, { ...all, ...variables }), want);
    }
  }
}

/** What the exactness part runs of a folder, as exactHashes() wants it. */
export function exactModels({ folder, model, tiny }) {
  const models = [];
  for (const name of checkpointNames(folder)) {
    const { single } = readJson(folder, 'checkpoints', name, 'expected.json');
    const source = `${path.join(folder, 'checkpoints', name)}/`;
    if (!single) continue; // one that is refused
    models.push({ model: name, source, ids: single.input_ids, longest: TINY_ROW, variants: VARIANTS.checkpoint });
  }
  if (tiny) models.push({ model: 'tiny', source: tiny, ids: null, longest: TINY_ROW, variants: VARIANTS.gguf });
  if (model && existsSync(path.join(folder, 'real/teacher.json'))) {
    const [{ input_ids: ids }] = readJson(folder, 'real/teacher.json');
    models.push({ model: 'real', source: model, ids, longest: REAL_ROW, variants: VARIANTS.real });
  }
  return models;
}

async function exact({ Engine, counter, folder, model, tiny }) {
  for (const one of exactModels({ folder, model, tiny }))
    await counter.try(`api exact/${one.model}`, async () => {
      for (const [name, hash] of await exactHashes(Engine, one)) counter.hashes.set(name, hash);
    });
}

/** proof: a file or folder of the part; it is run where that exists. */
const PARTS = [
  { name: 'tokenizer', proof: 'tokenizer/encode.jsonl', run: tokenizer },
  { name: 'checkpoints', proof: 'checkpoints', run: checkpoints },
  { name: 'stopping', proof: 'stopping/cases.jsonl', run: stopping },
  { name: 'chat', proof: 'chat/cases.jsonl', run: chat },
  { name: 'jinja', proof: 'chat/jinja.jsonl', run: constructs },
  { name: 'reasoning', proof: 'reasoning/chat.jsonl', run: reasoning },
  { name: 'exact', proof: 'checkpoints', run: exact },
];

/**
 * Runs the parts that a folder holds; only: names, or null for all; quick: on one number of threads.
 * @param {{ only: string[] | null } & Record<string, any>} options
 */
export async function runApi({ only, ...others }) {
  const run = /** @type {any} */ (others);
  for (const { name, proof, run: part } of PARTS) {
    if ((only && !only.includes(name)) || !existsSync(path.join(run.folder, proof))) continue;
    await run.counter.try(`api ${name}`, () => part(run));
  }
}
