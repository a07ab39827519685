// Chat in the demo page, with the tiny model and a template of its own, and models that come as several files.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { CHATML, withChatTemplate } from '../support/chat-template.js';
import { answered, ask, at, launch, modelReady, openTab, pick, serveSite, set, TINY } from './support/browser.js';

const ENDLESS = `${'{% for i in range(90000) %}'.repeat(4)}${'{% endfor %}'.repeat(4)}`;

let browser;
let server;
before(async () => {
  [browser, server] = await Promise.all([launch(), serveSite()]);
});
after(() => Promise.all([browser?.close(), server?.close()]));

/** The demo page with the tiny model that has this template. */
async function openChat(template, options) {
  const tab = await openTab(browser, server.url, options);
  await modelReady(tab.page);
  await pick(tab.page, { name: 'chat.gguf', mimeType: '', buffer: withChatTemplate(readFileSync(TINY), template) });
  await tab.page.waitForFunction(() => document.querySelector('[name=mode][value=chat]').checked);
  return tab;
}

test('a model with a template answers messages, and a second turn reads only what is new', async () => {
  const tab = await openChat(CHATML);
  assert.equal(await tab.page.innerText('#send'), 'Send');
  await set(tab.page, { temperature: 0, max_new_tokens: 12 });
  await tab.page.fill('#system', 'Be brief.');
  await ask(tab.page, 'How do you do?');
  assert.equal(await tab.page.inputValue('#prompt'), '');
  assert.ok(!(await tab.page.innerText('#log .meta')).includes('known already'));
  await ask(tab.page, 'And your sister?');
  assert.deepEqual(await tab.page.locator('#log .user .text').allInnerTexts(), ['How do you do?', 'And your sister?']);
  assert.match(await tab.page.locator('#log .meta').last().innerText(), /\(\d+ known already\)/);
  tab.expectClean();
  await tab.close();
});

test('what was stopped before its first word leaves the message in the field', async () => {
  const tab = await openChat(CHATML);
  await set(tab.page, { max_new_tokens: 400 });
  await tab.page.evaluate(() => {
    const prompt = document.getElementById('prompt');
    prompt.value = 'How do you do? '.repeat(50);
    document.getElementById('composer').requestSubmit();
    document.getElementById('stop').click();
  });
  await answered(tab.page, 3000);
  assert.match(await tab.page.locator('#log .meta').last().innerText(), /stopped/);
  assert.match(await tab.page.inputValue('#prompt'), /^How do you do\?/);
  tab.expectClean();
  await tab.close();
});

for (const [what, template, words] of [
  ['throws', "{{ raise_exception('only poets may speak') }}", /only poets may speak/],
  ['is not sound', '{% for x in %}', /template/i],
  ['never ends', ENDLESS, /template did not end within/],
]) {
  test(`a template that ${what} gives an error within seconds, and the page goes on`, async () => {
    const tab = await openChat(template);
    await tab.page.fill('#prompt', 'How do you do?');
    await tab.page.press('#prompt', 'Enter');
    await answered(tab.page, 5000);
    assert.match(await tab.page.innerText('#log .error'), words);
    assert.equal(await tab.page.inputValue('#prompt'), 'How do you do?');
    await tab.page.check('[name=mode][value=continue]');
    await set(tab.page, { temperature: 0, max_new_tokens: 8 });
    assert.ok((await ask(tab.page, 'The daughter of')).length > 'The daughter of'.length);
    await tab.close();
  });
}

test('all files of a checkpoint folder together are a model', async () => {
  const tab = await openTab(browser, server.url);
  await modelReady(tab.page);
  const folder = at('tests/fixtures/checkpoints/sharded');
  const shards = [1, 2, 3].map((n) => `model-0000${n}-of-00003.safetensors`);
  const names = [
    'config.json',
    'generation_config.json',
    'tokenizer.json',
    'tokenizer_config.json',
    'model.safetensors.index.json',
  ];
  await pick(tab.page, ...[...names, ...shards].map((name) => `${folder}/${name}`));
  await tab.page.waitForFunction(() => !document.getElementById('model-state').textContent.startsWith('Austen'));
  assert.equal(await tab.page.isVisible('#model-error'), false, await tab.page.innerText('#model-error'));
  await modelReady(tab.page);
  await tab.page.check('[name=mode][value=continue]');
  await set(tab.page, { temperature: 0, max_new_tokens: 8 });
  assert.ok((await ask(tab.page, 'Hello')).startsWith('Hello'));
  assert.match(await tab.page.innerText('#log .meta'), /^\d+ tokens? ·/);

  await pick(tab.page, `${folder}/config.json`, `${folder}/tokenizer.json`);
  await tab.page.waitForSelector('#model-error', { state: 'visible' });
  assert.match(await tab.page.innerText('#model-error-text'), /safetensors/);
  tab.expectClean();
  await tab.close();
});
