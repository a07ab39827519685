// The demo page without a mouse, and what it tells assistive technology.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { answered, launch, modelReady, openTab, serveSite, set } from './support/browser.js';

let browser;
let server;
before(async () => {
  [browser, server] = await Promise.all([launch(), serveSite()]);
});
after(() => Promise.all([browser?.close(), server?.close()]));

const focused = (page) => page.evaluate(() => document.activeElement?.id || document.activeElement?.className || '');

/** Presses Tab until the element has the focus. */
async function tabTo(page, id) {
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press('Tab');
    if ((await focused(page)) === id) return;
  }
  assert.fail(`Tab never came to #${id}`);
}

test('loading another model, a setting, an answer and Stop work by keyboard alone', async () => {
  const tab = await openTab(browser, server.url);
  const { page } = tab;
  await modelReady(page);

  await page.keyboard.press('Tab');
  assert.equal(await focused(page), 'skip');
  await page.keyboard.press('Enter');
  assert.equal(await focused(page), 'prompt');

  await page.keyboard.press('Home');
  await page.evaluate(() => document.getElementById('choice-title').scrollIntoView());
  await page.focus('#choice-title');
  await page.keyboard.press('Enter');
  await tabTo(page, 'url');
  await page.keyboard.type('models/austen-tiny-q8_0.gguf?again');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#offer', { state: 'visible' });
  assert.equal(await focused(page), 'offer-accept', 'the offer takes the focus');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#loading', { state: 'hidden' });
  assert.notEqual(await focused(page), '', 'the focus is not lost with the button that had it');

  await tabTo(page, 'prompt');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('The daughter of');
  await tabTo(page, 'settings-title');
  await page.keyboard.press('Enter');
  await tabTo(page, 'setting-max_new_tokens');
  await page.keyboard.type('900');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('#log .text')?.textContent.length > 60);
  await page.keyboard.press('Escape');
  const text = await answered(page, 3000);
  assert.ok(text.startsWith('The daughter of'));
  assert.match(await page.innerText('#log .meta'), / stopped · /);
  tab.expectClean();
  await tab.close();
});

test('the send button hands its focus to Stop and gets it back', async () => {
  const tab = await openTab(browser, server.url);
  await modelReady(tab.page);
  await set(tab.page, { max_new_tokens: 400 });
  await tab.page.focus('#send');
  await tab.page.keyboard.press('Enter');
  assert.equal(await focused(tab.page), 'stop');
  await answered(tab.page);
  assert.equal(await focused(tab.page), 'send');
  await tab.close();
});

test('every control has a name and every field a label', async () => {
  const tab = await openTab(browser, server.url);
  await modelReady(tab.page);
  await tab.page.evaluate(() => document.querySelectorAll('details').forEach((part) => (part.open = true)));
  const nameless = await tab.page.evaluate(() =>
    [...document.querySelectorAll('button, input, textarea, select, summary, progress')]
      .filter((control) => control.checkVisibility())
      .filter(
        (control) => !(control.labels?.length || control.textContent.trim() || control.getAttribute('aria-label')),
      )
      .map((control) => control.outerHTML),
  );
  assert.deepEqual(nameless, []);
  const tree = await tab.page.locator('body').ariaSnapshot();
  for (const line of [
    'heading "qwen2-wasm"',
    'textbox "Text to continue"',
    'spinbutton "temperature"',
    'log "Announcements"',
  ]) {
    assert.ok(tree.includes(line), `${line} is not in:\n${tree}`);
  }
  await tab.close();
});

test('an answer is announced in sentences, not token by token', async () => {
  const tab = await openTab(browser, server.url);
  await modelReady(tab.page);
  await tab.page.evaluate(() => {
    window.said = [];
    const watch = new MutationObserver((changes) => {
      for (const { addedNodes } of changes) for (const node of addedNodes) window.said.push(node.textContent);
    });
    watch.observe(document.querySelector('[aria-live]'), { childList: true, subtree: true });
  });
  await set(tab.page, { max_new_tokens: 200, seed: 3 });
  await tab.page.fill('#prompt', 'The daughter of');
  await tab.page.press('#prompt', 'Enter');
  const text = await answered(tab.page);
  const said = await tab.page.evaluate(() => window.said);
  assert.equal(`The daughter of${said.join('')}`, text);
  assert.ok(said.length >= 1 && said.length < 20, `${said.length} announcements for 200 tokens`);
  assert.equal(await tab.page.locator('#log').getAttribute('aria-live'), null);
  await tab.close();
});

/** Contrast of two sRGB colours as WCAG defines it. */
function contrast(one, other) {
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

for (const colorScheme of ['light', 'dark']) {
  test(`text stands out enough from its background in the ${colorScheme} scheme`, async () => {
    const tab = await openTab(browser, server.url, { colorScheme });
    await modelReady(tab.page);
    const pairs = await tab.page.evaluate(() => {
      const style = getComputedStyle(document.documentElement);
      const value = (name) => style.getPropertyValue(`--${name}`).trim();
      const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
      const wanted = [];
      for (const text of ['ink', 'quiet'])
        for (const ground of ['paper', 'card', 'field']) wanted.push([text, ground, 4.5]);
      wanted.push(['on-accent', 'accent', 4.5], ['bad', 'bad-card', 4.5], ['bad', 'paper', 4.5]);
      for (const ground of ['paper', 'card', 'field']) wanted.push(['edge', ground, 3], ['focus', ground, 3]);
      return wanted.map(([text, ground, least]) => ({
        text,
        ground,
        least,
        colours: [rgb(value(text)), rgb(value(ground))],
      }));
    });
    for (const { text, ground, least, colours } of pairs) {
      const ratio = contrast(...colours);
      assert.ok(ratio >= least, `${text} on ${ground}: ${ratio.toFixed(2)}, want ${least}`);
    }
    await tab.close();
  });
}
