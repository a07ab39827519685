// <qwen-chat> in Chromium: with the bundled model, and with an engine that says what a test dictates.
import assert from 'node:assert/strict';
import { after, before, beforeEach, afterEach, test } from 'node:test';
import { launch, openTab, serveSite } from './support/browser.js';
import { strictPolicy } from '../../js/cli/static-server.js';

const LIMIT = { timeout: 60_000 };

let browser;
let server;
let tab;
/** @type {import('playwright-core').Page} */
let page;

before(async () => {
  [browser, server] = await Promise.all([launch(), serveSite({ policy: strictPolicy() })]);
});
after(() => Promise.all([browser?.close(), server?.close()]));
beforeEach(async () => {
  tab = await openTab(browser, `${server.url}element.html`);
  page = tab.page;
  await page.waitForFunction(() => window.loaded);
});
afterEach(async () => {
  await tab.close();
});

/** The HTML of an answer without what belongs to code blocks' heads. */
const answerTo = (markdown, size) =>
  page.evaluate(
    async ([text, pieces]) => {
      const chat = window.addDictated(text, { size: pieces });
      const place = (await window.say(chat, 'x')).cloneNode(true);
      for (const head of place.querySelectorAll('.code-head')) head.remove();
      for (const node of place.querySelectorAll('*')) {
        for (const name of ['class', 'part', 'tabindex', 'role', 'aria-label', 'data-language'])
          node.removeAttribute(name);
      }
      chat.remove();
      return place.innerHTML;
    },
    [markdown, size],
  );

test('two lines of HTML load the bundled model and answer under the strict policy', LIMIT, async () => {
  await page.goto(`${server.url}embed/`);
  const chat = page.locator('qwen-chat');
  await page.waitForFunction(() => document.querySelector('qwen-chat').phase === 'ready');
  assert.equal(await chat.locator('textarea').getAttribute('placeholder'), 'Write a beginning', 'a base model');
  await chat.locator('textarea').fill('It is a truth');
  await chat.locator('textarea').press('Enter');
  await page.waitForFunction(() => document.querySelector('qwen-chat').messages[1]?.content.length > 40);
  await chat.locator('.send').click();
  await page.waitForFunction(() => document.querySelector('qwen-chat').phase === 'ready');
  const [user, answer] = await page.evaluate(() => document.querySelector('qwen-chat').messages);
  assert.equal(user.content, 'It is a truth');
  assert.match(answer.content, /[a-z]{3}/);

  await page.reload();
  await page.waitForFunction(() => document.querySelector('qwen-chat').phase === 'ready');
  const kept = await page.evaluate(() => document.querySelector('qwen-chat').messages);
  assert.deepEqual(kept, [user, answer], 'the transcript survives a reload');
  tab.expectClean();
});

test('Markdown becomes elements, whatever the pieces that it comes in', LIMIT, async () => {
  const text =
    'A **bold** and *quiet* `word`.\n\n- one\n- two\n\n1. first\n2. second\n\n> said\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nlet x = "1"; // so\n```\n';
  const whole = await answerTo(text, 1000);
  for (const part of [
    '<strong>bold</strong>',
    '<em>quiet</em>',
    '<code>word</code>',
    '<li>one</li>',
    '<blockquote>',
    '<th> a </th>',
    '<td> 2 </td>',
  ])
    assert.ok(whole.includes(part), `${part} in ${whole}`);
  assert.match(whole, /<pre><code>.*let.*<\/code><\/pre>/s);
  for (const size of [1, 2, 5]) assert.equal(await answerTo(text, size), whole, `in pieces of ${size}`);
});

test('HTML, addresses and images of the model are text; nothing is fetched', LIMIT, async () => {
  const html = await answerTo(
    '<img src=x onerror=alert(1)><script>alert(1)</script>\n\n[here](javascript:void) ![pic](https://example.org/a.png)',
    9,
  );
  assert.ok(!/<(img|script|a)\b/.test(html), html);
  assert.ok(html.includes('&lt;script&gt;'), html);
  assert.ok(html.includes('here (javascript:void)'), html);
  assert.ok(html.includes('pic (https://example.org/a.png)'), html);
  tab.expectClean();
});

test('no letter is lost in half-open and hostile Markdown', LIMIT, async () => {
  const cases = [
    '**bold never closed',
    '```\ncode never closed',
    '| a | b',
    '> '.repeat(200) + 'deep',
    '- '.repeat(100) + 'list',
    '\u001b]52;c;aGk=\u0007 ansi \u202e bidi',
    '[link](never closed',
    '`'.repeat(50),
  ];
  for (const text of cases) {
    const shown = await page.evaluate(async (answer) => {
      const chat = window.addDictated(answer, { size: 3 });
      const place = await window.say(chat, 'x');
      const found = place.textContent;
      chat.remove();
      return found;
    }, text);
    const letters = (value) => value.replace(/[^a-z]/g, '');
    assert.ok(
      letters(shown).includes(letters(text).slice(-4)),
      `${JSON.stringify(text)} is shown as ${JSON.stringify(shown)}`,
    );
  }
  tab.expectClean();
});

test('a megabyte without a blank is shown whole', LIMIT, async () => {
  const length = await page.evaluate(async () => {
    const chat = window.addDictated('x'.repeat(1e6), { size: 2000 });
    const place = await window.say(chat, 'x');
    while (place.textContent.length < 1e6) await new Promise(requestAnimationFrame);
    return place.textContent.length;
  });
  assert.equal(length, 1e6);
});

test(
  'messages go out with the system message and come back as turns; an edit replaces what came after',
  LIMIT,
  async () => {
    const calls = await page.evaluate(async () => {
      const chat = window.addDictated('fine', { attributes: { system: 'Be brief.' } });
      await window.say(chat, 'one');
      await window.say(chat, 'two');
      const edit = chat.shadowRoot.querySelector('.turn.user .edit');
      edit.click();
      const input = chat.shadowRoot.querySelector('textarea');
      input.value = 'three';
      chat.shadowRoot.querySelector('.send').click();
      await window.inPhase(chat, 'answering');
      await window.inPhase(chat, 'ready');
      chat.shadowRoot.querySelector('.regenerate').click();
      await window.inPhase(chat, 'ready');
      return { last: chat.engine.calls.at(-1).input, messages: chat.messages, number: chat.engine.calls.length };
    });
    assert.equal(calls.number, 4);
    assert.deepEqual(calls.last, [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'three' },
    ]);
    assert.deepEqual(calls.messages, [
      { role: 'user', content: 'three' },
      { role: 'assistant', content: 'fine' },
    ]);
  },
);

test('Stop keeps what there is and leaves the focus on its button', LIMIT, async () => {
  const state = await page.evaluate(async () => {
    const chat = window.addDictated('word '.repeat(2000), { size: 5 });
    await window.inPhase(chat, 'ready');
    chat.send('go on');
    await new Promise((resolve) => setTimeout(resolve, 50));
    const send = chat.shadowRoot.querySelector('.send');
    send.focus();
    const label = send.textContent;
    send.click();
    await window.inPhase(chat, 'ready');
    return { label, after: send.textContent, focused: chat.shadowRoot.activeElement === send, messages: chat.messages };
  });
  assert.deepEqual([state.label, state.after, state.focused], ['Stop', 'Send', true]);
  assert.match(state.messages[1].content, /^(word )+/);
});

test('an engine that fails says so in the turn, and the next message is answered', LIMIT, async () => {
  const shown = await page.evaluate(async () => {
    const chat = window.addDictated([]);
    let first = true;
    chat.engine = new window.DictatedEngine(() => {
      if (!first) return ['better'];
      first = false;
      return ['half ', new Error('the reason')];
    });
    await window.say(chat, 'one');
    const note = chat.shadowRoot.querySelector('.note.error').textContent;
    const answer = await window.say(chat, 'two');
    return { note, answer: answer.textContent };
  });
  assert.deepEqual(shown, { note: 'the reason', answer: 'better' });
});

test('moved, it goes on; removed and put back 100 times, it works and keeps its turns', LIMIT, async () => {
  const state = await page.evaluate(async () => {
    const chat = window.addDictated('word '.repeat(400), { size: 5 });
    const other = document.createElement('section');
    document.body.append(other);
    await window.inPhase(chat, 'ready');
    chat.send('a');
    other.append(chat);
    await window.inPhase(chat, 'ready');
    const moved = chat.messages[1].content.length;
    for (let i = 0; i < 100; i++) {
      chat.remove();
      await new Promise((resolve) => setTimeout(resolve, 0));
      other.append(chat);
    }
    chat.engine = new window.DictatedEngine(() => ['again']);
    await window.say(chat, 'b');
    return { moved, roles: chat.messages.map((message) => message.role).join(), last: chat.messages[3].content };
  });
  assert.deepEqual(state, { moved: 2000, roles: 'user,assistant,user,assistant', last: 'again' });
  tab.expectClean();
});

test('it looks the same under the hostile style of a page, twice in it, and in a shadow root', LIMIT, async () => {
  const shown = await page.evaluate(async () => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(
      '* { display: none !important; color: red !important; font-size: 60px !important } html, main, qwen-chat, body { display: block !important }',
    );
    const first = window.addDictated('fine');
    await window.say(first, 'x');
    const measure = (chat) => {
      const input = chat.shadowRoot.querySelector('textarea').getBoundingClientRect();
      return [input.width > 100, input.height, getComputedStyle(chat.shadowRoot.querySelector('.text')).fontSize];
    };
    const before = measure(first);
    document.adoptedStyleSheets = [sheet];
    const host = document.createElement('section');
    document.getElementById('place').append(host);
    host.style.setProperty('display', 'block', 'important');
    const second = window.addDictated('fine', { into: host.attachShadow({ mode: 'open' }) });
    await window.say(second, 'x');
    return { before, after: measure(first), second: measure(second) };
  });
  assert.deepEqual(shown.after, shown.before);
  assert.deepEqual(shown.second, shown.before);
});

test('text that streams follows, unless the reader scrolled away; nothing jumps', LIMIT, async () => {
  const state = await page.evaluate(async () => {
    let shift = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) shift += entry.value;
    }).observe({ type: 'layout-shift', buffered: false });
    const lines = Array.from({ length: 200 }, (_, i) => `line ${i}\n\n`);
    const chat = window.addDictated(lines);
    const box = chat.shadowRoot.querySelector('.scroll');
    await window.say(chat, 'x');
    const end = () => Math.round(box.scrollHeight - box.clientHeight - box.scrollTop);
    const followed = end();
    chat.send('again');
    await window.inPhase(chat, 'answering');
    await new Promise((resolve) => setTimeout(resolve, 100));
    box.dispatchEvent(new WheelEvent('wheel', { deltaY: -100 }));
    box.scrollTop = 10;
    await window.inPhase(chat, 'ready');
    for (let i = 0; i < 5; i++) await new Promise(requestAnimationFrame);
    const stayed = box.scrollTop;
    const jump = chat.shadowRoot.querySelector('.jump');
    const offered = !jump.hidden;
    jump.click();
    return { followed, stayed, offered, end: end(), shift };
  });
  assert.deepEqual(state, { followed: 0, stayed: 10, offered: true, end: 0, shift: 0 });
});

test('words are those of the language, and can be replaced one by one', LIMIT, async () => {
  const words = await page.evaluate(() => {
    const german = window.addDictated('x', { attributes: { lang: 'de-AT' } });
    const chat = document.createElement('qwen-chat');
    chat.lang = 'zh-Hans';
    chat.strings = { send: 'Los' };
    document.body.append(chat);
    const label = (one, part) => one.shadowRoot.querySelector(part).textContent;
    return [label(german, '.send'), label(german, '.clear'), label(chat, '.send'), label(chat, '.clear')];
  });
  assert.deepEqual(words, ['Senden', 'Neues Gespräch', 'Los', '新对话']);
});

test('a download waits for consent, which tells its size; declined, nothing was fetched', LIMIT, async () => {
  const seen = [];
  page.on('request', (request) => request.url().includes('austen') && seen.push(request.url()));
  await page.evaluate(() => {
    document.getElementById('place').innerHTML = '<qwen-chat src="models/austen-tiny-q8_0.gguf" forget></qwen-chat>';
  });
  const chat = page.locator('qwen-chat');
  await chat.locator('.load-accept').waitFor();
  assert.match(await chat.locator('.load').innerText(), /5\.[0-9] MB.*memory/s);
  await chat.locator('.load-decline').click();
  assert.match(await chat.locator('.load').innerText(), /No model was loaded/);
  await chat.locator('.load-accept').click();
  await page.waitForFunction(() => document.querySelector('qwen-chat').phase === 'ready');
  tab.expectClean();
});
/** What axe finds in the page, as sentences. */
async function axeFaults() {
  await page.addScriptTag({ url: '/node_modules/axe-core/axe.min.js' });
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`);
  });
}

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  test(`axe finds nothing in any state, ${colorScheme}`, LIMIT, async () => {
    await page.emulateMedia({ colorScheme });
    const put = (/** @type {string} */ html) =>
      page.evaluate((text) => void (document.getElementById('place').innerHTML = `<h1>Page</h1>${text}`), html);
    await put('<qwen-chat forget></qwen-chat>');
    assert.deepEqual(await axeFaults(), [], 'no source');
    await put(
      '<qwen-chat forget src="models/austen-tiny-q8_0.gguf" greeting="Hi **you**" suggestions="One\nTwo"></qwen-chat>',
    );
    await page.locator('.load-accept').waitFor();
    assert.deepEqual(await axeFaults(), [], 'consent, greeting, suggestions');
    await put('<qwen-chat forget src="models/none.gguf"></qwen-chat>');
    await page.locator('.load-retry').waitFor();
    assert.deepEqual(await axeFaults(), [], 'error');
    await put('');
    await page.evaluate(async () => {
      const chat = window.addDictated(
        '# Head\n\n- a\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nlet x = 1; // y\n```\n',
      );
      await window.say(chat, 'x');
      const running = window.addDictated('word '.repeat(1e4), { size: 5 });
      await window.inPhase(running, 'ready');
      running.send('x');
    });
    assert.deepEqual(await axeFaults(), [], 'answered and answering');
  });
}

test('by keyboard alone: consent, a message, Stop, an edit given up; the focus is never lost', LIMIT, async () => {
  await page.evaluate(() => {
    document.getElementById('place').innerHTML = '<qwen-chat forget src="models/austen-tiny-q8_0.gguf"></qwen-chat>';
  });
  const focused = () =>
    page.evaluate(() => document.querySelector('qwen-chat').shadowRoot.activeElement?.className ?? 'none');
  const tabTo = async (/** @type {string} */ name) => {
    for (let i = 0; i < 30; i++) {
      await page.keyboard.press('Tab');
      if ((await focused()).includes(name)) return;
    }
    assert.fail(`Tab never came to ${name}, but to ${await focused()}`);
  };
  await page.locator('.load-accept').waitFor();
  await tabTo('load-accept');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('qwen-chat').phase === 'ready');
  await tabTo('input');
  await page.keyboard.type('It is a truth');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('qwen-chat').messages[1]?.content.length > 20);
  assert.equal(await focused(), 'input', 'the field keeps the focus while the answer comes');
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.querySelector('qwen-chat').phase === 'ready');
  assert.equal(await focused(), 'input');
  await page.locator('.turn.user .edit').focus();
  await page.keyboard.press('Enter');
  assert.equal(await page.locator('.input').inputValue(), 'It is a truth');
  await page.keyboard.press('Escape');
  assert.deepEqual([await page.locator('.input').inputValue(), await focused()], ['', 'input']);
});

test('composing with an input method, Enter does not send', LIMIT, async () => {
  const sent = await page.evaluate(async () => {
    const chat = window.addDictated('x');
    await window.inPhase(chat, 'ready');
    const input = chat.shadowRoot.querySelector('textarea');
    input.value = 'にほん';
    for (const init of [{ isComposing: true }, { keyCode: 229 }])
      input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ...init }));
    return chat.messages.length;
  });
  assert.equal(sent, 0);
});

test('a page whose own names are those that the element uses within keeps them apart', LIMIT, async () => {
  const colours = await page.evaluate(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(':root { --accent: rgb(1, 2, 3) } qwen-chat { --qwen-chat-accent: var(--accent) }');
    document.adoptedStyleSheets = [sheet];
    const chat = window.addDictated('x');
    return getComputedStyle(chat.shadowRoot.querySelector('.send')).backgroundColor;
  });
  assert.equal(colours, 'rgb(1, 2, 3)');
});
