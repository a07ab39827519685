// The demo page without a mouse, and what it tells assistive technology.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { answered, launch, modelReady, openTab, remark, serveSite, set } from './support/browser.js';

let browser;
let server;
before(async () => {
  [browser, server] = await Promise.all([launch(), serveSite()]);
});
after(() => Promise.all([browser?.close(), server?.close()]));

/** The element that has the focus, in the element's own tree where it is there: its id or class. */
const focused = (page) =>
  page.evaluate(() => {
    const outer = document.activeElement;
    const inner = outer?.shadowRoot?.activeElement ?? outer;
    return inner?.id || inner?.className || '';
  });

/** Presses Tab until the element has the focus. */
async function tabTo(page, name) {
  for (let i = 0; i < 80; i++) {
    if ((await focused(page)) === name) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`Tab never came to ${name}`);
}

test('loading another model, a setting, an answer and Stop work by keyboard alone', async () => {
  const tab = await openTab(browser, server.url);
  const { page } = tab;
  await modelReady(page);

  await page.keyboard.press('Tab');
  assert.equal(await focused(page), 'skip');
  await page.keyboard.press('Enter');
  assert.equal(await focused(page), 'input');

  await page.focus('.skip');
  await tabTo(page, 'open-models');
  await page.keyboard.press('Enter');
  await tabTo(page, 'url');
  await page.keyboard.type('models/austen-tiny-q8_0.gguf?again');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#found .accept', { state: 'visible' });
  assert.equal(await focused(page), 'primary accept', 'the offer takes the focus');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#models', { state: 'hidden' });
  assert.equal(await focused(page), 'input', 'the focus is not lost with the button that had it');
  await modelReady(page);

  await page.focus('.skip');
  await tabTo(page, 'open-settings');
  await page.keyboard.press('Enter');
  await tabTo(page, 'setting-max_new_tokens');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('900');
  await page.keyboard.press('Escape');
  assert.equal(await focused(page), 'open-settings', 'a panel gives the focus back');
  await tabTo(page, 'input');
  await page.keyboard.type('The daughter of');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('qwen-chat').messages[1]?.content.length > 0);
  await page.keyboard.press('Escape');
  await answered(page, 3000);
  assert.match(await remark(page), /Stopped/);
  tab.expectClean();
  await tab.close();
});

/** axe over the page, which sees into open shadow trees. */
async function axeFaults(page) {
  await page.addScriptTag({ url: '/node_modules/axe-core/axe.min.js' });
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`);
  });
}

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  test(
    `axe finds nothing on any page, in any panel and at an error, ${colorScheme}`,
    { timeout: 120_000 },
    async () => {
      const tab = await openTab(browser, server.url, { colorScheme, expectErrors: true });
      const { page } = tab;
      await modelReady(page);
      assert.deepEqual(await axeFaults(page), [], 'first screen');
      await set(page, { max_new_tokens: 30 });
      await page.locator('.suggestion').first().click();
      await answered(page);
      assert.deepEqual(await axeFaults(page), [], 'an answer');
      for (const name of ['models', 'settings', 'browser']) {
        await page.click(`#open-${name}`);
        await page.evaluate(() => document.querySelectorAll('details').forEach((part) => (part.open = true)));
        if (name === 'models') {
          await page.fill('#url', 'models/none.gguf');
          await page.press('#url', 'Enter');
          await page.waitForSelector('#model-error', { state: 'visible' });
        }
        assert.deepEqual(await axeFaults(page), [], name);
        await page.click(`#${name} .close`);
      }
      for (const path of ['continue/', 'editor/', 'embed/']) {
        await page.goto(server.url + path);
        await page.waitForTimeout(300);
        assert.deepEqual(await axeFaults(page), [], path);
      }
      await tab.close();
    },
  );
}

test('every control has a name and every field a label', async () => {
  const tab = await openTab(browser, server.url);
  await modelReady(tab.page);
  for (const name of ['models', 'settings', 'browser']) {
    await tab.page.click(`#open-${name}`);
    const nameless = await tab.page.evaluate(() => {
      document.querySelectorAll('details').forEach((part) => (part.open = true));
      return [...document.querySelectorAll('button, input, textarea, select, summary')]
        .filter((control) => control.checkVisibility())
        .filter((control) => !(control.labels?.length || control.textContent.trim() || control.ariaLabel))
        .map((control) => control.outerHTML);
    });
    assert.deepEqual(nameless, []);
    const tree = await tab.page.locator(`#${name}`).ariaSnapshot();
    for (const line of {
      models: ['heading "Models"', 'button "Look at it: Qwen2.5-Coder-0.5B-Instruct"'],
      settings: ['spinbutton "temperature"'],
      browser: ['button "Test the engine here"'],
    }[name])
      // prettier-ignore
      assert.ok(tree.includes(line), `${line} is not in:\n${tree}`);
    await tab.page.click(`#${name} .close`);
  }
  const tree = await tab.page.locator('body').ariaSnapshot();
  for (const line of ['heading "qwen2-wasm"', 'textbox "Write a beginning"', 'log "Chat with a language model"'])
    assert.ok(tree.includes(line), `${line} is not in:\n${tree}`);
  await tab.close();
});

test('an answer is announced in sentences, not token by token', async () => {
  const tab = await openTab(browser, server.url);
  await modelReady(tab.page);
  await set(tab.page, { max_new_tokens: 200, seed: 3 });
  await tab.page.evaluate(() => {
    window.said = [];
    const watch = new MutationObserver((changes) => {
      for (const { addedNodes } of changes) for (const node of addedNodes) window.said.push(node.textContent);
    });
    const chat = document.querySelector('qwen-chat');
    watch.observe(chat.shadowRoot.querySelector('[role=log]'), { childList: true, subtree: true });
    chat.send('The daughter of');
  });
  const text = await answered(tab.page);
  const said = await tab.page.evaluate(() => window.said);
  assert.equal(said.join(''), text);
  assert.ok(said.length >= 1 && said.length < 20, `${said.length} announcements for 200 tokens`);
  assert.equal(await tab.page.locator('.scroll').getAttribute('aria-live'), null);
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

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
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
      const ratio = contrast(colours[0], colours[1]);
      assert.ok(ratio >= Number(least), `${text} on ${ground}: ${ratio.toFixed(2)}, want ${least}`);
    }
    await tab.close();
  });
}
