// dist/cli.js as a process: what it prints where, its exit codes, and Ctrl-C.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, openSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Engine } from '../../dist/node.js';
import { withChatTemplate } from '../support/chat-template.js';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const TINY = fileURLToPath(new URL('../../models/austen-tiny-q8_0.gguf', import.meta.url));
const PROMPT = 'It is a truth universally acknowledged, that';

const folder = mkdtempSync(path.join(os.tmpdir(), 'qw-cli-'));
after(() => rmSync(folder, { recursive: true }));

/** Starts the command line; `done` resolves to what it printed and its exit code. */
function start(args, { cli = CLI, cwd = folder, node = [], env = {}, stdout = 'pipe' } = {}) {
  const stdio = /** @type {any} */ (['pipe', stdout, 'pipe']);
  const options = { cwd, timeout: 60_000, env: { ...process.env, ...env }, stdio };
  const child = spawn(process.execPath, [...node, cli, ...args], options);
  const got = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name]?.setEncoding('utf8').on('data', (text) => (got[name] += text));
  const done = new Promise((resolve) => child.on('close', (code, signal) => resolve({ ...got, code: code ?? signal })));
  const seen = async (pattern) => {
    while (!pattern.test(got.stdout)) await new Promise((resolve) => child.stdout.once('data', resolve));
  };
  return { child, got, done, seen };
}

function run(args, input, options) {
  const { child, done } = start(args, options);
  child.stdin.on('error', () => {});
  child.stdin.end(input ?? '');
  return done;
}

let greedy;
let ids;
before(async () => {
  const engine = await Engine.load(TINY, { cache: false });
  greedy = (await engine.generate(PROMPT, { do_sample: false, max_new_tokens: 16 }).result).sequences[0];
  ids = [...(await engine.tokenize(PROMPT))];
  await engine.close();
});

test('generate continues a text with the bundled model and prints nothing else to stdout', async () => {
  const got = await run(['generate', '--prompt', PROMPT, '--max_new_tokens', '16', '--do_sample', 'false']);
  assert.deepEqual(got, { stdout: `${greedy.text}\n`, stderr: '', code: 0 });
});

test('generate --json gives the result as the API has it', async () => {
  const got = await run([
    'generate',
    '--model',
    TINY,
    '--prompt',
    PROMPT,
    '--max_new_tokens=16',
    '--json',
    '--threads',
    '1',
  ]);
  assert.equal(got.code, 0, got.stderr);
  const result = JSON.parse(got.stdout);
  assert.deepEqual(result.sequences, [greedy]);
  assert.deepEqual([result.usage.prompt_tokens, result.usage.completion_tokens], [ids.length, 16]);
  assert.ok(result.timings.decode > 0 && Number.isInteger(result.seed));
});

test('generate reads its text from stdin, without the line end of the shell', async () => {
  const args = ['generate', '--max_new_tokens', '16', '--stats'];
  const got = await run(args, `${PROMPT}\n`);
  assert.deepEqual([got.stdout, got.code], [`${greedy.text}\n`, 0]);
  assert.match(got.stderr, /^prompt \d+ tokens .*; new 16 tokens, [\d.]+\/s; length; seed \d+\n$/);
});

test('a batch prints every row, the same text as alone', async () => {
  const two = ['--prompt', PROMPT, '--prompt', 'The daughter of'];
  const got = await run(['generate', ...two, '--max_new_tokens', '16']);
  const rows = /^\[0\]([\s\S]*)\n\[1\]([\s\S]*)\n$/.exec(got.stdout);
  assert.ok(rows, got.stdout + got.stderr);
  assert.equal(rows[1], greedy.text);
  const alone = await run(['generate', '--prompt', 'The daughter of', '--max_new_tokens', '16']);
  assert.equal(`${rows[2]}\n`, alone.stdout);
});

test('settings reach the engine by the names of the API', async () => {
  const args = ['generate', '--json', '--prompt', PROMPT, '--max_new_tokens', '16'];
  const sampled = (seed) => run([...args, '--do_sample', 'true', '--temperature', '1.2', '--seed', seed]);
  const [one, same, other] = await Promise.all(['5', '5', '6'].map(sampled));
  const texts = [one, same, other].map((got) => JSON.parse(got.stdout).sequences[0].text);
  assert.equal(texts[0], texts[1]);
  assert.notEqual(texts[0], texts[2]);
  const word = greedy.text.trim().split(' ')[1];
  const stopped = JSON.parse((await run([...args, '--stop_strings', word])).stdout).sequences[0];
  assert.deepEqual(
    [stopped.finish_reason, stopped.text],
    ['stop_string', greedy.text.slice(0, greedy.text.indexOf(word))],
  );
  const suppressed = JSON.parse((await run([...args, '--suppress_tokens', `[${greedy.token_ids[0]}]`])).stdout);
  assert.notEqual(suppressed.sequences[0].token_ids[0], greedy.token_ids[0]);
});

test('chat answers each line of stdin and remembers the turns before', async () => {
  const settings = ['--max_new_tokens', '8', '--temperature', '0', '--system', 'Be brief.'];
  const got = await run(['chat', '--json', ...settings], 'How do you do?\n\nAnd your sister?\n');
  assert.equal(got.code, 0, got.stderr);
  const turns = got.stdout.trim().split('\n').map((line) => JSON.parse(line)); // prettier-ignore
  assert.equal(turns.length, 2, got.stdout);
  for (const turn of turns) assert.deepEqual([turn.role, typeof turn.content], ['assistant', 'string']);
  assert.ok(turns[1].usage.prompt_tokens > turns[0].usage.prompt_tokens + turns[0].usage.completion_tokens);
  assert.ok(turns[1].usage.cached_tokens > 0, 'the first turn is not read again');
  assert.match(got.stderr, /no chat template/);
  const plain = await run(['chat', ...settings, '--prompt', 'How do you do?', '--prompt', 'And your sister?']);
  assert.equal(plain.stdout, turns.map((turn) => `${turn.content}\n`).join(''));
});

test('chat renders the template that the model brings', async () => {
  const model = path.join(folder, 'chat.gguf');
  writeFileSync(model, withChatTemplate(readFileSync(TINY), '{{ messages[0].content }} ... and so'));
  const settings = ['--max_new_tokens', '8', '--temperature', '0'];
  const got = await run(['chat', '--model', model, '--prompt', 'The daughter of', ...settings]);
  assert.equal(got.stderr, '');
  const same = await run(['generate', '--prompt', 'The daughter of ... and so', ...settings, '--do_sample', 'false']);
  assert.equal(got.stdout, same.stdout);
});

test('tokenize prints the ids', async () => {
  const got = await run(['tokenize', '--prompt', PROMPT, '--prompt', '']);
  assert.deepEqual(got, { stdout: `${ids.join(' ')}\n\n`, stderr: '', code: 0 });
  const json = await run(['tokenize', '--json'], '<|im_start|>');
  const plain = await run(['tokenize', '--json', '--parse_special', 'false'], '<|im_start|>');
  assert.equal(JSON.parse(json.stdout).token_ids[0].length, 1);
  assert.ok(JSON.parse(plain.stdout).token_ids[0].length > 1);
});

test('plan tells the sizes that load() will need', async () => {
  const plan = async (contextLength) => {
    const json = await run(['plan', '--model', TINY, '--json', '--contextLength', contextLength, '--maxRows', '1']);
    assert.equal(json.code, 0, json.stderr);
    return JSON.parse(json.stdout);
  };
  const [half, whole] = [await plan('512'), await plan('1024')];
  const position = 6 * 2 * 64 * 2; // layers, keys and values, 2 heads of 32, f16
  assert.ok(half.kvBytes >= 512 * position && half.kvBytes < 600 * position, `${half.kvBytes}`);
  const more = whole.kvBytes - half.kvBytes;
  assert.ok(more >= 512 * position && more < 513 * position, `${more}`);
  assert.ok(whole.weightBytes > 5e6 && whole.peakBytes > whole.weightBytes + whole.kvBytes);
  assert.equal(whole.fits, true);
  const text = await run(['plan', '--model', TINY]);
  assert.match(text.stdout, /peak of memory +[\d.]+ MB\nfits +yes\n/);
});

test('errors are one line on stderr: 1 for what went wrong, 2 for a wrong call', async () => {
  const wrong = path.join(folder, 'wrong.gguf');
  writeFileSync(wrong, 'this is not a model, whatever its name says. '.repeat(9));
  for (const [args, code, words] of /** @type {[string[], number, RegExp][]} */ ([
    [['generate', '--model', 'missing.gguf', '--prompt', 'x'], 1, /missing\.gguf/],
    [['generate', '--model', wrong, '--prompt', 'x'], 1, /wrong\.gguf.*GGUF|GGUF.*wrong\.gguf/],
    [['plan', '--model', wrong], 1, /GGUF/],
    [['generate', '--prompt', 'x', '--no_such_setting', '1'], 2, /no_such_setting/],
    [['generate', '--prompt', 'x', '--temperature', 'warm'], 2, /--temperature wants a number, got "warm"/],
    [['generate', '--prompt', 'x', '--do_sample', 'yes'], 2, /--do_sample wants true or false, got "yes"/],
    [['generate', '--prompt', 'x', '--suppress_tokens', '[1'], 2, /--suppress_tokens wants JSON/],
    [['generate', '--prompt', 'x', '--top_k', '1', '--top_k', '2'], 2, /--top_k is given 2 times/],
    [['generate', '--prompt', 'x', '--do_sample', 'true', '--top_p', '7'], 2, /top_p/],
    [['generate', 'a prompt without its option'], 2, /neither an option nor the value of one/],
    [['generate', '--prompt', ''], 2, /empty/],
    [['bench'], 2, /there is no command "bench"/],
    [['serve', '--port', '70000'], 2, /--port/],
  ])) {
    const got = await run(args);
    assert.equal(got.code, code, `${args.join(' ')}: ${got.stderr}`);
    assert.equal(got.stdout, '', args.join(' '));
    assert.match(got.stderr, words);
    assert.match(got.stderr, /^qwen2-wasm: .*\n$/, 'one line, no stack');
  }
});

test('--help tells of the commands that exist, and every command of its options', async () => {
  const all = await run(['--help']);
  const names = [...all.stdout.matchAll(/^ {2}(\w+) {2,}/gm)].map((match) => match[1]);
  assert.deepEqual(names, ['generate', 'chat', 'tokenize', 'plan', 'fetch', 'cache', 'manifest', 'serve']);
  for (const name of names) {
    const got = await run([name, '--help']);
    assert.deepEqual([got.code, got.stderr], [0, ''], name);
    assert.ok(got.stdout.startsWith(`Usage: qwen2-wasm ${name} `), got.stdout);
  }
  const bare = await run([]);
  assert.deepEqual([bare.code, bare.stdout], [2, '']);
});

const LONG = ['--max_new_tokens', '900', '--do_sample', 'true', '--temperature', '1', '--threads', '1'];

test('Ctrl-C ends an answer and keeps what there is of it', async () => {
  const running = start(['generate', '--prompt', PROMPT, ...LONG]);
  await running.seen(/\w+ \w+ \w+/);
  running.child.kill('SIGINT');
  const got = await running.done;
  assert.deepEqual([got.code, got.stderr], [130, '']);
  assert.ok(got.stdout.endsWith('\n') && got.stdout.length > 10);
});

test('Ctrl-C in a chat ends the answer, not the conversation; a second one ends the program', async () => {
  const running = start(['chat', ...LONG]);
  running.child.stdin.write('Tell me everything.\n');
  await running.seen(/\w+ \w+ \w+/);
  running.child.kill('SIGINT');
  await running.seen(/\n$/);
  const first = running.got.stdout.length;
  running.child.stdin.write('And now?\n');
  while (running.got.stdout.length < first + 20)
    await new Promise((resolve) => running.child.stdout.once('data', resolve));
  running.child.kill('SIGINT');
  await running.seen(/[^\n]\n[\s\S]*\n$/);
  running.child.kill('SIGINT');
  assert.equal((await running.done).code, 130);
});

test('it ends quietly when the reader of its output has gone', async () => {
  const running = start(['generate', '--prompt', PROMPT, ...LONG]);
  await running.seen(/\w/);
  running.child.stdout.destroy();
  const got = await running.done;
  assert.deepEqual([got.code, got.stderr], [0, '']);
});

test('serve gives a folder with the headers for threads', async () => {
  writeFileSync(path.join(folder, 'index.html'), '<p>hello');
  const running = start(['serve', '--port', '0']);
  await running.seen(/\n/);
  const url = running.got.stdout.trim();
  const page = await fetch(url);
  assert.equal(await page.text(), '<p>hello');
  assert.equal(page.headers.get('cross-origin-embedder-policy'), 'require-corp');
  assert.match(page.headers.get('content-security-policy'), /script-src 'self' 'wasm-unsafe-eval';/);
  running.child.kill('SIGINT');
  assert.deepEqual(await running.done, { stdout: `${url}\n`, stderr: '', code: 0 });
});

test('it runs from a folder whose name has blanks, accents, % and #', async () => {
  const odd = path.join(folder, 'a b é%20#');
  mkdirSync(odd);
  cpSync(path.dirname(CLI), path.join(odd, 'dist'), { recursive: true });
  cpSync(TINY, path.join(odd, 'tiny model.gguf'));
  const got = await run(['generate', '--model', 'tiny model.gguf', '--prompt', PROMPT, '--max_new_tokens', '16'], '', {
    cli: path.join(odd, 'dist/cli.js'),
    cwd: odd,
  });
  assert.deepEqual(got, { stdout: `${greedy.text}\n`, stderr: '', code: 0 });
});

/** What a terminal would be sent: escapes that set its clipboard and title, in 7 and in 8 bits. */
const ESCAPES = '\x1b]52;c;ZXZpbA==\x07 \x9b2J\x7f\rover\ttab';
const SHOWN = '␛]52;c;ZXZpbA==␇ \\x9b2J␡␍over\ttab';
/** node --import: stdout (and stderr) as a terminal. */
const TERMINAL = ['--import', 'data:text/javascript,process.stdout.isTTY=process.stderr.isTTY=true'];

/** Options by which the bundled model writes this text. */
async function dictated(text) {
  const engine = await Engine.load(TINY, { cache: false });
  const [ids, prompt] = await Promise.all([engine.tokenize(text), engine.tokenize(PROMPT)]);
  await engine.close();
  const script = new URL('./support/processor-script.mjs', import.meta.url);
  script.search = `?prompt=${prompt.length}&ids=${[...ids]}`;
  return ['--prompt', PROMPT, '--logits_processor', script.href, '--max_new_tokens', String(ids.length)];
}

test('a terminal is not told what to do by the text of a model; a pipe gets the text as it is', async () => {
  const options = ['generate', ...(await dictated(ESCAPES))];
  assert.equal((await run(options)).stdout, `${ESCAPES}\n`);
  assert.equal((await run(options, '', { node: TERMINAL })).stdout, `${SHOWN}\n`);
});

test('a terminal is not told what to do by an error that quotes a file', async () => {
  const name = path.join(folder, 'a\x1b]52;c;x\x07.gguf');
  writeFileSync(name, 'GGUF');
  const { stderr, code } = await run(['plan', '--model', name], '', { node: TERMINAL });
  assert.equal(code, 1);
  // The line of progress is the program's own, the rest is not.
  assert.doesNotMatch(stderr.replaceAll('\r\x1b[K', ''), /[\x1b\x07]/);
});

test('a full disk is one line', async () => {
  const full = openSync('/dev/full', 'w');
  const args = ['generate', '--prompt', PROMPT, '--max_new_tokens', '4'];
  const { stderr, code } = await run(args, '', { stdout: /** @type {any} */ (full) });
  assert.equal(code, 1);
  assert.match(stderr, /^qwen2-wasm: stdout cannot be written: [^\n]*no space left[^\n]*\n$/i);
});

test('input that is not UTF-8 is said so', async () => {
  for (const bytes of [Buffer.from('caf\xe9', 'latin1'), Buffer.from('\ufeffwide', 'utf16le')]) {
    const { stderr, code } = await run(['tokenize'], bytes);
    assert.deepEqual(
      [code, stderr],
      [2, 'qwen2-wasm: stdin is not UTF-8: bring it to UTF-8 first, with iconv or the like\n'],
    );
  }
});

for (const [given, meant] of [
  ['--temp', '--temperature'],
  ['--max-new-tokens', '--max_new_tokens'],
  ['--n-predict', '--max_new_tokens'],
  ['--repeat-penalty', '--repetition_penalty'],
  ['--ctx-size', '--contextLength'],
  ['--stop', '--stop_strings'],
  ['-m', '--model'],
  ['-n', '--max_new_tokens'],
]) {
  test(`${given} is told that ${meant} may be meant`, async () => {
    const { stderr, code } = await run(['generate', given, '1']);
    assert.deepEqual([code, stderr], [2, `qwen2-wasm: there is no option ${given}: did you mean ${meant}?\n`]);
  });
}

test('an option that nothing is like is told where the options are', async () => {
  const { stderr } = await run(['generate', '--xyzzy', '1']);
  assert.equal(stderr, 'qwen2-wasm: there is no option --xyzzy: --help lists the options\n');
});

test('manifest writes what load() and fetch read, in parts on request; cache lists and deletes', async () => {
  const { startServer } = await import('../../js/cli/static-server.js');
  const site = path.join(folder, 'site');
  mkdirSync(site);
  cpSync(TINY, path.join(site, 'tiny.gguf'));
  const made = await run(['manifest', path.join(site, 'tiny.gguf'), '--split', '2.5MB', '--name', 'Tiny']);
  assert.deepEqual([made.code, made.stdout], [0, `${path.join(site, 'manifest.json')}\n`], made.stderr);
  const manifest = JSON.parse(readFileSync(path.join(site, 'manifest.json'), 'utf8'));
  const [{ bytes, chunks, sources }] = manifest.files;
  assert.deepEqual(
    [manifest.version, manifest.name, chunks.sha256.length],
    [2, 'Tiny', Math.ceil(bytes / chunks.bytes)],
  );
  assert.deepEqual(
    sources[0].parts.map((part) => part.bytes),
    [2_500_000, 2_500_000, bytes - 5_000_000],
  );
  rmSync(path.join(site, 'tiny.gguf'));
  const server = await startServer({ folders: site });
  const cacheHome = path.join(folder, 'home');
  const env = { ...process.env, XDG_CACHE_HOME: cacheHome };
  try {
    const model = ['--model', `${server.url}manifest.json`];
    const got = await run(['fetch', ...model, '--json'], '', { env });
    assert.deepEqual([got.code, got.stderr, JSON.parse(got.stdout).bytes], [0, '', bytes]);
    const plan = JSON.parse((await run(['plan', ...model, '--json'], '', { env })).stdout);
    assert.deepEqual([plan.downloadBytes, plan.cachedBytes >= bytes, plan.storageBytes > 0], [0, true, true]);
    const list = JSON.parse((await run(['cache', '--json'], '', { env })).stdout);
    const { key, complete } = list.find((one) => one.name === 'tiny.gguf');
    assert.equal(complete, true);
    assert.match(
      (await run(['cache', 'list'], '', { env })).stdout,
      new RegExp(`^${key} +5\\.8 MB  complete .* tiny\\.gguf$`, 'm'),
    );
    assert.equal((await run(['cache', 'delete', key], '', { env })).code, 0);
    assert.equal((await run(['cache', 'delete', key], '', { env })).code, 2);
    assert.equal((await run(['cache', 'clear'], '', { env })).code, 0);
    assert.equal((await run(['cache'], '', { env })).stdout, '');
    for (const bad of [['manifest'], ['manifest', 'x', '--split', 'ten'], ['fetch'], ['cache', 'burn']])
      assert.equal((await run(bad, '', { env })).code, 2, String(bad));
  } finally {
    await server.close();
  }
});
