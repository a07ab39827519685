// The form of all settings on the demo page: every key of the contract is there, what is written acts, and what is wrong is
// told at its field.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { settingKeys } from '../support/api-keys.js';
import { withChatTemplate } from '../support/chat-template.js';
import {
  answered,
  ask,
  at,
  inPanel,
  launch,
  modelReady,
  openTab,
  pick,
  remark,
  serveSite,
  set,
  TINY,
} from './support/browser.js';

const PROMPT = 'It is a truth universally acknowledged, that';

let browser;
let server;
/** Greedy ids after PROMPT, from the same engine in Node. */
let greedy;
before(async () => {
  [browser, server] = await Promise.all([launch(), serveSite()]);
  const { Engine } = await import(at('dist/node.js'));
  const engine = await Engine.load(TINY, { threads: 1 });
  greedy = (await engine.generate(PROMPT, { max_new_tokens: 24 }).result).sequences[0].token_ids;
  await engine.close();
});
after(() => Promise.all([browser?.close(), server?.close()]));

async function openDemo(options) {
  const tab = await openTab(browser, server.url, options);
  await modelReady(tab.page);
  await tab.page.evaluate(() => ['settings-all', 'result'].forEach((id) => (document.getElementById(id).open = true)));
  return tab;
}

const write = (page, name, text) => set(page, { [name]: text });
const reset = (page) => inPanel(page, 'settings', () => page.click('#settings-reset'));
const select = (page, name, value) => inPanel(page, 'settings', () => page.selectOption(`#setting-${name}`, value));

/** What stands in the panel about the last answer, by the names of Result. */
async function result(page) {
  const text = await page.textContent('#result-body pre');
  return Object.fromEntries(
    text.split('\n').map((line) => [line.slice(0, line.indexOf(':')), JSON.parse(line.slice(line.indexOf(':') + 1))]),
  );
}

const idsOf = async (page) => (await result(page)).sequences[0].token_ids;

test('every setting of the contract has a labelled field of its kind', async () => {
  const tab = await openDemo();
  await tab.page.click('#open-settings');
  const fields = await tab.page.evaluate(() =>
    [...document.querySelectorAll('[id^=setting-]:is(input, select)')].map((field) => ({
      name: field.id.slice('setting-'.length),
      label: field.labels[0]?.textContent,
      kind: field.type,
      visible: field.checkVisibility(),
    })),
  );
  const keys = [...settingKeys(), 'truncate'];
  assert.deepEqual(fields.map(({ name }) => name).sort(), keys.sort());
  for (const { name, label, visible } of fields) assert.deepEqual([label, visible], [name, true], name);
  const kinds = Object.fromEntries(fields.map(({ name, kind }) => [name, kind]));
  assert.equal(kinds.top_k, 'number');
  assert.equal(kinds.do_sample, 'select-one');
  assert.equal(kinds.bad_words_ids, 'text');
  await tab.page.evaluate(() => (document.getElementById('settings-all').open = false));
  assert.equal(await tab.page.isVisible('#setting-temperature'), true, 'the common ones stand outside');
  assert.equal(await tab.page.isVisible('#setting-typical_p'), false);
  await tab.close();
});

test('rare settings act, and empty fields are left out', async () => {
  const tab = await openDemo();
  const { page } = tab;
  await set(page, { temperature: 0, max_new_tokens: 24 });
  await ask(page, PROMPT);
  assert.deepEqual(await idsOf(page), greedy);

  await write(page, 'no_repeat_ngram_size', '1');
  await ask(page, PROMPT);
  const once = await idsOf(page);
  assert.equal(new Set(once).size, once.length, 'no token twice');
  await write(page, 'no_repeat_ngram_size', '');

  await write(page, 'bad_words_ids', `[[${greedy[0]}], [${greedy[0] + 1}, 5]]`);
  await ask(page, PROMPT);
  assert.ok(!(await idsOf(page)).includes(greedy[0]));
  await write(page, 'bad_words_ids', '');

  await write(page, 'logit_bias', '{"77": 1000}');
  await ask(page, PROMPT);
  assert.deepEqual(await idsOf(page), new Array(24).fill(77));
  await write(page, 'logit_bias', '');

  await write(page, 'suppress_tokens', JSON.stringify(greedy.slice(0, 2)));
  await write(page, 'min_new_tokens', '3');
  await write(page, 'stop_strings', '["e", " "]');
  await ask(page, PROMPT);
  const { sequences } = await result(page);
  assert.equal(sequences[0].finish_reason, 'stop_string');
  assert.ok(!sequences[0].text.includes('e') && !sequences[0].token_ids.includes(greedy[0]));

  await reset(page);
  assert.equal(await page.inputValue('#setting-suppress_tokens'), '');
  assert.equal(await page.inputValue('#setting-top_p'), '0.9');
  tab.expectClean();
  await tab.close();
});

test('several sequences, their log-probabilities and the state of the generator are shown', async () => {
  const tab = await openDemo();
  const { page } = tab;
  await set(page, { temperature: 1, max_new_tokens: 6, seed: 4 });
  await write(page, 'num_return_sequences', '2');
  await write(page, 'logprobs', '3');
  await select(page, 'skip_special_tokens', 'false');
  await ask(page, PROMPT);
  const { sequences, rng_state, seed } = await result(page);
  assert.equal(seed, 4);
  assert.equal(rng_state.split(',').length, 2);
  assert.equal(sequences.length, 2);
  assert.equal(await answered(page), sequences[0].text);
  assert.equal(await page.locator('#result-body tbody tr').count(), 12);
  assert.match(await page.locator('#result-body tbody tr').first().textContent(), /-\d+\.\d{3}.*-\d+\.\d{3}/);
  tab.expectClean();
  await tab.close();
});

test('what is no value is told at its field and beside the button, and the setting is not used', async () => {
  const tab = await openDemo();
  const { page } = tab;
  await set(page, { temperature: 0, max_new_tokens: 24 });
  await write(page, 'bad_words_ids', '[[5]');
  assert.match(await page.textContent('#setting-bad_words_ids-fault'), /^bad_words_ids is no JSON: /);
  assert.equal(await page.getAttribute('#setting-bad_words_ids', 'aria-invalid'), 'true');
  assert.match(await page.innerText('#open-settings'), /one is not used/);
  await ask(page, PROMPT);
  assert.deepEqual(await idsOf(page), greedy);
  await page.click('#open-settings');
  await page.focus('#setting-bad_words_ids');
  await page.keyboard.type(']');
  assert.equal(await page.locator('[aria-invalid]').count(), 0, 'typing takes the mark away');
  await page.focus('#setting-top_k');
  await page.keyboard.type('1e');
  assert.equal(await page.innerText('#setting-top_k-fault'), 'top_k is no number');
  await page.keyboard.press('Backspace');
  assert.equal(await page.locator('[aria-invalid]').count(), 0);
  await page.click('#settings .close');
  assert.equal(await page.innerText('#open-settings'), 'Settings');
  tab.expectClean();
  await tab.close();
});

test('what the engine refuses is told in the conversation and at its field, and nothing is lost', async () => {
  const tab = await openDemo();
  const { page } = tab;
  for (const [name, text, words] of /** @type {[string, string, RegExp][]} */ ([
    ['bad_words_ids', '[[99999]]', /bad_words_ids names the token id 99999, wanted an integer from 0 to 4095/],
    ['top_p', '7', /top_p is 7, wanted a number from 0 to 1/],
    ['max_new_tokens', '1.5', /max_new_tokens is 1\.5, wanted an integer/],
    ['exponential_decay_length_penalty', '[1]', /exponential_decay_length_penalty/],
    ['rng_state', 'abc', /rng_state "abc" is not the state/],
    ['stop_strings', '""', /stop_strings holds an empty string/],
    ['logits_processor', 'none.js', /logits_processor .*none\.js cannot be imported/],
  ])) {
    await write(page, name, text);
    await page.fill('.input', PROMPT);
    await page.press('.input', 'Enter');
    const field = page.locator(`#setting-${name}[aria-invalid=true]`);
    await field.waitFor();
    assert.match(await page.innerText(`#setting-${name}-fault`), words);
    assert.match(await remark(page), words);
    assert.match(await page.locator('qwen-chat [role=log]').textContent(), words);
    assert.ok((await field.getAttribute('aria-describedby')).includes(`setting-${name}-fault`));
    assert.equal(await page.evaluate(() => document.activeElement.id), `setting-${name}`);
    assert.equal(await field.inputValue(), text);
    await reset(page);
    assert.equal(await page.locator('[aria-invalid]').count(), 0);
    await set(page, { temperature: 0, max_new_tokens: 24 });
    await page.getByRole('button', { name: 'Answer again' }).click();
    await answered(page);
    assert.deepEqual(await idsOf(page), greedy, 'the message is there still');
    await reset(page); // a temperature of 0 makes the settings of sampling idle
  }
  await tab.close();
});

test('settings that leave no token are an error of the answer, and the next one works', async () => {
  const tab = await openDemo();
  const { page } = tab;
  await set(page, { temperature: 0, max_new_tokens: 24 });
  await write(page, 'suppress_tokens', JSON.stringify(Array.from({ length: 4096 }, (_, id) => id)));
  await ask(page, PROMPT);
  assert.match(await remark(page), /step 0: the settings leave no token to choose/);
  await write(page, 'suppress_tokens', '');
  await ask(page, PROMPT);
  assert.deepEqual(await idsOf(page), greedy);
  await tab.close();
});

test('truncate goes to conversations only', async () => {
  const tab = await openDemo();
  const { page } = tab;
  await select(page, 'truncate', 'oldest-turns');
  await set(page, { max_new_tokens: 4 });
  await ask(page, PROMPT);
  assert.equal(await page.locator('.turn .note.error').count(), 0);
  const bytes = withChatTemplate(
    readFileSync(TINY),
    '{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:',
  );
  await pick(page, { name: 'chat.gguf', mimeType: '', buffer: Buffer.from(bytes) });
  await page.waitForFunction(() => document.querySelector('qwen-chat').engine?.info.chatTemplate);
  await modelReady(page);
  for (let i = 0; i < 3; i++) await ask(page, `How do you do, ${'very '.repeat(400)}much?`);
  assert.match(await remark(page), /oldest messages were left out/);
  await tab.close();
});

test('all settings can be reached and set by keyboard, and nothing is wider than a phone', async () => {
  const tab = await openTab(browser, server.url, { viewport: { width: 320, height: 640 } });
  const { page } = tab;
  await modelReady(page);
  await page.focus('#open-settings');
  await page.keyboard.press('Enter');
  const seen = new Set();
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press('Tab');
    const id = await page.evaluate(() => document.activeElement.id);
    if (id === 'settings-all-title') await page.keyboard.press('Enter');
    if (id === 'setting-suppress_tokens') await page.keyboard.type(`[${greedy[0]}]`);
    if (id === 'setting-do_sample') await page.keyboard.type('false');
    seen.add(id);
  }
  for (const key of settingKeys()) assert.ok(seen.has(`setting-${key}`), `Tab never came to ${key}`);
  assert.equal(await page.inputValue('#setting-do_sample'), 'false');
  await page.keyboard.press('Escape');
  await page.evaluate(() => (document.getElementById('result').open = true));
  await set(page, { max_new_tokens: 2 });
  await ask(page, PROMPT);
  assert.notEqual((await idsOf(page))[0], greedy[0]);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 320, `the page is ${width} wide`);
  tab.expectClean();
  await tab.close();
});
