// Chat in the demo page, with the tiny model and a template of its own, and models that come as several files.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { CHATML, withChatTemplate } from '../support/chat-template.js';
import { answered, ask, at, inPanel, launch, modelError, modelReady, modelState, openTab, pick, remark, serveSite, set, TINY } from './support/browser.js'; // prettier-ignore

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
  await tab.page.waitForFunction(() => document.querySelector('qwen-chat').engine?.info.chatTemplate);
  await modelReady(tab.page);
  return tab;
}

test('a model with a template answers messages, and a second turn reads only what is new', async () => {
  const tab = await openChat(CHATML);
  assert.equal(await tab.page.innerText('.send'), 'Send');
  await set(tab.page, { temperature: 0, max_new_tokens: 12 });
  await inPanel(tab.page, 'settings', () => tab.page.fill('#system', 'Be brief.'));
  const usage = () => tab.page.evaluate(() => window.lastResult.usage.cached_tokens);
  await tab.page.evaluate(() =>
    document
      .querySelector('qwen-chat')
      .addEventListener('qwen-message', ({ detail }) => (window.lastResult = detail.result)),
  );
  await ask(tab.page, 'How do you do?');
  assert.equal(await tab.page.inputValue('.input'), '');
  assert.equal(await usage(), 0);
  await ask(tab.page, 'And your sister?');
  assert.deepEqual(await tab.page.locator('.turn.user .text').allInnerTexts(), ['How do you do?', 'And your sister?']);
  assert.ok((await usage()) > 10);
  tab.expectClean();
  await tab.close();
});

test('what was stopped before its first word is answered when it is asked for again', async () => {
  const tab = await openChat(CHATML);
  await set(tab.page, { temperature: 0, max_new_tokens: 8 });
  await tab.page.evaluate(() => {
    const chat = document.querySelector('qwen-chat');
    chat.send('How do you do? '.repeat(50));
    return chat.stop();
  });
  await answered(tab.page, 3000);
  assert.match(await remark(tab.page), /Stopped/);
  await tab.page.getByRole('button', { name: 'Answer again' }).click();
  assert.ok((await answered(tab.page)).length > 5);
  tab.expectClean();
  await tab.close();
});

for (const [what, template, words] of /** @type {[string, string, RegExp][]} */ ([
  ['throws', "{{ raise_exception('only poets may speak') }}", /only poets may speak/],
  ['is not sound', '{% for x in %}', /template/i],
  ['never ends', ENDLESS, /template did not end within/],
])) {
  test(`a template that ${what} gives an error within seconds, and the page goes on`, async () => {
    const tab = await openChat(template);
    await set(tab.page, { temperature: 0, max_new_tokens: 8 });
    await ask(tab.page, 'How do you do?');
    assert.match(await tab.page.locator('.turn .note.error').innerText(), words);
    await pick(tab.page, { name: 'sound.gguf', mimeType: '', buffer: withChatTemplate(readFileSync(TINY), CHATML) });
    await tab.page.waitForFunction(() => document.querySelector('qwen-chat').engine?.info.chatTemplate.includes('im_start')); // prettier-ignore
    await modelReady(tab.page);
    await set(tab.page, { max_new_tokens: 8 });
    assert.ok((await ask(tab.page, 'How do you do?')).length > 5);
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
  await modelReady(tab.page);
  await set(tab.page, { temperature: 0, max_new_tokens: 8 });
  await ask(tab.page, 'Hello');
  assert.match(await tab.page.innerText('qwen-chat .meter'), /tokens/);
  const before = await modelState(tab.page);

  await pick(tab.page, `${folder}/config.json`, `${folder}/tokenizer.json`);
  assert.match(await modelError(tab.page), /safetensors/);
  assert.equal(await modelState(tab.page), before);
  tab.expectClean();
  await tab.close();
});
