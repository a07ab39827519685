// Answers that are JSON of a schema or texts of a grammar, by a model that knows neither: every one parses and validates.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { Engine, TINY, withCode } from './support/package.js';

const PROMPT = 'It is a truth universally acknowledged, that';
const LONG = process.env.QW_LONG === '1';

/** @type {any} */
let engine;
before(async () => (engine = await Engine.load(TINY, { threads: 1, contextLength: 640, maxRows: 8 })));
after(() => engine.close());

const ajv = new Ajv({ strict: false, multipleOfPrecision: 9 });
/** @type {any} */ (addFormats)(ajv);

const json = (schema, more = {}) => ({ type: 'json_schema', json_schema: { schema, ...more } });

/** @param {object} settings @param {string | string[]} [prompt] */
async function sequencesOf(settings, prompt = PROMPT) {
  return (await engine.generate(prompt, { max_new_tokens: 160, ...settings }).result).sequences;
}

const PERSON = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 20 },
    age: { type: 'integer', minimum: 0, maximum: 120 },
    tags: { type: 'array', items: { type: 'string', maxLength: 8 }, maxItems: 3, uniqueItems: true },
  },
  required: ['name', 'age'],
  additionalProperties: false,
};

const SCHEMAS = {
  person: PERSON,
  anything: true,
  'a list of persons': { type: 'array', items: PERSON, minItems: 1, maxItems: 3 },
  'a tree': {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        type: 'object',
        properties: { value: { type: 'number' }, next: { $ref: '#/$defs/node' } },
        required: ['value'],
        additionalProperties: false,
      },
    },
  },
  'numbers with bounds': {
    type: 'array',
    items: { type: 'number', exclusiveMinimum: 0, maximum: 1, multipleOf: 0.25 },
    minItems: 2,
    maxItems: 4,
  },
  'formats and patterns': {
    type: 'object',
    properties: {
      day: { type: 'string', format: 'date' },
      code: { type: 'string', pattern: '^[A-Z]{3}-\\d{2,4}$' },
      id: { type: 'string', format: 'uuid' },
    },
    required: ['day', 'code', 'id'],
    additionalProperties: false,
  },
  'one of two shapes': {
    oneOf: [
      { type: 'object', properties: { kind: { const: 'a' }, n: { type: 'integer' } }, required: ['kind', 'n'] },
      { type: 'object', properties: { kind: { const: 'b' }, s: { type: 'string' } }, required: ['kind', 's'] },
    ],
  },
  'keys of a pattern': {
    type: 'object',
    patternProperties: { '^x_': { type: 'boolean' } },
    additionalProperties: false,
    minProperties: 2,
    maxProperties: 3,
  },
  'any object of integers': { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 1 },
  'what fails': { type: ['integer', 'string', 'null'], not: { enum: [0, 'no', null] } },
  'if and then': {
    type: 'object',
    properties: { paid: { type: 'boolean' }, sum: { type: 'integer', minimum: 1 } },
    required: ['paid'],
    if: { properties: { paid: { const: true } } },
    then: { required: ['sum'] },
    additionalProperties: false,
  },
  'contained in a list': { type: 'array', contains: { const: 7 }, items: { enum: [1, 7, 'x'] }, maxItems: 4 },
};

for (const [name, schema] of Object.entries(SCHEMAS)) {
  test(`${name}: every answer that is complete parses and validates, whatever the room and the temperature`, async () => {
    const validate = ajv.compile(schema);
    let complete = 0;
    for (const max_new_tokens of LONG ? [24, 48, 96, 200, 400, 512] : [24, 96, 256])
      for (const sampling of [
        {},
        { do_sample: true, temperature: 1.5, num_return_sequences: LONG ? 8 : 4, seed: max_new_tokens },
        { do_sample: true, temperature: 1, num_return_sequences: LONG ? 8 : 2, seed: 9, whitespace: 'compact' },
      ])
        for (const { text, format } of await sequencesOf({
          response_format: json(schema),
          max_new_tokens,
          ...sampling,
        })) {
          let value;
          try {
            value = JSON.parse(text);
          } catch {
            assert.equal(format.complete, false, `${text} does not parse`);
            continue;
          }
          if (!format.complete) continue; // a number that may go on parses too
          assert.ok(validate(value), `${text}: ${ajv.errorsText(validate.errors)}`);
          complete++;
        }
    assert.ok(complete > 0);
  });
}

test('with room for the shortest text every answer is complete', async () => {
  for (const [name, schema] of Object.entries(SCHEMAS)) {
    const sampling = { do_sample: true, temperature: 1.5, num_return_sequences: 4, seed: 3 };
    for (const { text, format } of await sequencesOf({
      response_format: json(schema),
      max_new_tokens: 120,
      ...sampling,
    }))
      assert.equal(format.complete, true, `${name}: ${text}`);
  }
});

test('json_object is an object of anything, and white space is as it was asked for', async () => {
  for (const whitespace of ['bounded', 'compact', 'any']) {
    const [{ text, format }] = await sequencesOf({
      response_format: { type: 'json_object' },
      whitespace,
      do_sample: true,
      seed: 4,
      max_new_tokens: 100,
    });
    assert.equal(format.complete, true, text);
    const value = JSON.parse(text);
    assert.ok(value && typeof value === 'object' && !Array.isArray(value), text);
    if (whitespace === 'compact') assert.doesNotMatch(text.replace(/"(\\.|[^"\\])*"/g, '""'), /\s/);
  }
});

test('a grammar is held, with rules that come back to themselves', async () => {
  const grammar = 'root ::= sum\nsum ::= part ("+" part)*\npart ::= [0-9]{1,3} | "(" sum ")"';
  for (const { text, format } of await sequencesOf({
    response_format: { type: 'grammar', grammar },
    do_sample: true,
    temperature: 2,
    num_return_sequences: 8,
    seed: 1,
    max_new_tokens: 60,
  })) {
    assert.match(text, /^[0-9+()]+$/);
    assert.equal(format.complete, true, text);
    assert.equal(Number.isFinite(Function(`return ${text.replace(/\b0+(?=\d)/g, '')}`)()), true, text);
  }
  const [{ text }] = await sequencesOf({
    response_format: { type: 'grammar', grammar: 'start ::= "yes"', root: 'start' },
  });
  assert.equal(text, 'yes');
});

test('the same seed gives the same document, alone and beside others', async () => {
  const settings = { response_format: json(PERSON), do_sample: true, temperature: 1.2, max_new_tokens: 80 };
  const [alone] = await sequencesOf({ ...settings, seed: 11 });
  const rows = await sequencesOf({ ...settings, seed: 10, num_return_sequences: 3 });
  assert.deepEqual(rows[1].token_ids, alone.token_ids);
});

test('what a schema asks that cannot be held is refused by pointer, or passed over with a note', async () => {
  /** @type {[any, RegExp][]} */
  const bad = [
    [json({ type: 'string', pattern: '(?=a)b' }), /"\/pattern" cannot be held/],
    [json({ properties: { a: { $ref: 'https://example.com/x.json' } } }), /nothing is fetched/],
    [json({ allOf: [{ type: 'string' }, { type: 'number' }] }), /no value meets the schema/],
    [json(7), /json_schema\.schema is number, wanted an object or a boolean/],
    [{ type: 'json_schema' }, /json_schema is missing/],
    [{ type: 'json_schema', schema: {} }, /has no member schema: a schema goes into/],
    [json({}, { scheme: 1 }), /json_schema\.scheme is not known/],
    [{ type: 'json_object', schema: {} }, /has no member schema/],
    [{ type: 'grammar', grammar: 'root ::= b' }, /line 1/],
    [{ type: 'grammar' }, /grammar is missing/],
    [{ type: 'choice', choices: ['a'], extra: 1 }, /has no member extra/],
  ];
  for (const [response_format, words] of bad) {
    const run = engine.generate(PROMPT, { response_format });
    await assert.rejects(run.result, withCode('usage', words), JSON.stringify(response_format));
  }
  await assert.rejects(
    engine.generate(PROMPT, { response_format: json({}), whitespace: 'wide' }).result,
    withCode('usage', /whitespace is "wide", wanted bounded, compact or any/),
  );
  /** @type {any} */
  const circle = {};
  circle.properties = { circle };
  await assert.rejects(
    engine.generate(PROMPT, { response_format: json(circle) }).result,
    withCode('usage', /response_format cannot be written as JSON/),
  );
  const lenient = json({ type: 'string', pattern: '(?=a)b', maxLength: 5 }, { lenient: true });
  const { notes, sequences } = await engine.generate(PROMPT, { response_format: lenient, max_new_tokens: 40 }).result;
  assert.ok(
    notes.some((note) => /the schema at "\/pattern"/.test(note)),
    notes.join('\n'),
  );
  assert.ok(JSON.parse(sequences[0].text).length <= 5);
});

test('checkFormat tells all that cannot be held, by pointer, and what was passed over', async () => {
  const held = { ok: true, notes: [], unsupported: [] };
  for (const form of [
    json(PERSON),
    { type: 'text' },
    { type: 'regex', regex: /a+/ },
    { type: 'choice', choices: ['a'] },
  ])
    assert.deepEqual(await engine.checkFormat(form), held);
  const two = { properties: { a: { pattern: '(?=x)' }, b: { items: { $ref: 'https://example.com/x' } } } };
  const { ok, unsupported } = await engine.checkFormat(json(two));
  assert.equal(ok, false);
  assert.deepEqual(
    unsupported.map(({ pointer, keyword }) => [pointer, keyword]),
    [
      ['/properties/a/pattern', 'pattern'],
      ['/properties/b/items/$ref', '$ref'],
    ],
  );
  assert.ok(unsupported.every(({ why }) => why.length > 10));
  const lenient = await engine.checkFormat(json(two, { lenient: true }));
  assert.deepEqual([lenient.ok, lenient.notes.length], [true, 2]);
  for (const [form, words] of /** @type {[any, RegExp][]} */ ([
    [{ type: 'regex', regex: '(a' }, /character/],
    [{ type: 'grammar', grammar: 'root ::= x' }, /line 1/],
    [json({ type: 'string', minLength: 3, maxLength: 2 }), /no value meets/],
    [{ type: 'yaml' }, /type is "yaml"/],
  ])) {
    const report = await engine.checkFormat(form);
    assert.equal(report.ok, false);
    assert.match(report.unsupported[0].why, words);
  }
  await assert.rejects(engine.checkFormat(/** @type {any} */ ('json')), withCode('usage', /an object with a type/));
  assert.equal((await sequencesOf({ max_new_tokens: 2 }))[0].token_ids.length, 2, 'the engine goes on');
});

test('hostile schemas end: deep, wide, of many choices, large', async () => {
  let deep = /** @type {any} */ ({ type: 'integer' });
  for (let i = 0; i < 100; i++) deep = { type: 'array', items: deep, minItems: 1, maxItems: 1 };
  const wide = { type: 'object', properties: {}, additionalProperties: false };
  for (let i = 0; i < 1000; i++) wide.properties[`property_${i}`] = { type: 'integer' };
  const many = { enum: Array.from({ length: 10_000 }, (_, i) => `choice ${i * 7919}`) };
  const large = { description: 'x'.repeat(1_000_000), type: 'boolean' };
  for (const schema of [deep, wide, many, large]) {
    const [{ text, format }] = await sequencesOf({ response_format: json(schema), max_new_tokens: 400 });
    assert.equal(format.complete, true, text.slice(0, 200));
    assert.ok(ajv.compile({ ...schema, description: undefined })(JSON.parse(text)), text.slice(0, 200));
  }
});
