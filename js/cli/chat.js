/** `chat`: a conversation, one message a line. */
import readline from 'node:readline';
import { CHAT, CHAT_HELP, LOAD_HELP, MODEL_HELP, RUN, SETTINGS, SETTINGS_HELP, parseOptions, pick } from './options.js';
import { err, out } from './output.js';
import { Interrupt, further, jsonLine, statistics, streamAnswer, withEngine } from './session.js';

export const summary = 'talk with an instruct model';

export const help = `Usage: qwen2-wasm chat [--model FILE] [--system TEXT] [options]

Each line of stdin is a message; the answers go to stdout as they come. Ctrl-C stops an answer, then the program;
the end of the input (Ctrl-D) ends the conversation.

  --system TEXT            the system message
  --prompt TEXT            a message instead of stdin; several times for several turns
  --json                   one JSON object a turn: role, content, sequences, usage, timings, seed, ...
  --stats                  tokens per second, on stderr

${MODEL_HELP}
${LOAD_HELP}
${SETTINGS_HELP}${CHAT_HELP}`;

/**
 * Lines as they are typed, with a prompt where a person types them.
 * @param {Interrupt} interrupt
 */
async function* typedLines(interrupt) {
  const terminal = Boolean(process.stdin.isTTY && process.stdout.isTTY);
  const lines = readline.createInterface({
    input: process.stdin,
    output: terminal ? process.stdout : undefined,
    terminal,
  });
  lines.on('SIGINT', () => interrupt.hit());
  lines.setPrompt('> ');
  if (terminal) lines.prompt();
  for await (const line of lines) {
    if (line.trim()) yield line;
    if (terminal) lines.prompt();
  }
}

/**
 * @param {import('../node.js').Engine} engine
 * @param {import('../node.js').Message[]} messages
 * @param {Record<string, any>} values
 * @param {Interrupt} interrupt
 * @returns {Promise<string | null>} What the model said; null where it was stopped before it said anything.
 */
async function answer(engine, messages, values, interrupt) {
  const { result, chunks } = await streamAnswer(
    engine.chat(messages, pick(values, SETTINGS, CHAT)),
    (text) => !values.json && out(text),
    interrupt,
  );
  const { sequences, notes } = result;
  const [{ text: content, finish_reason }] = sequences;
  const turn = { role: 'assistant', content, finish_reason, ...result, chunks };
  out(values.json ? jsonLine(turn) : `\n${further(sequences)}`);
  if (!values.json) for (const note of notes) err(`note: ${note}\n`);
  if (values.stats) err(`${statistics(result)}\n`);
  return content || null;
}

/** @param {string[]} args */
export async function run(args) {
  const { values } = parseOptions(args, { ...RUN, ...CHAT, prompt: 'strings', system: 'text' });
  const interrupt = new Interrupt();
  return withEngine(values, interrupt, async (engine) => {
    if (engine.info.chatTemplate === null) err('note: this model has no chat template; ChatML is used\n');
    /** @type {import('../node.js').Message[]} */
    const messages = values.system === undefined ? [] : [{ role: 'system', content: values.system }];
    for await (const line of values.prompt ?? typedLines(interrupt)) {
      messages.push({ role: 'user', content: line });
      try {
        const content = await answer(engine, messages, values, interrupt);
        if (content === null) messages.pop();
        else messages.push({ role: 'assistant', content });
      } catch (/** @type {any} */ error) {
        // A person may go on after an answer that failed; a script is told.
        if (!process.stdin.isTTY || values.prompt) throw error;
        messages.pop();
        err(`${error.message}\n`);
      }
    }
    return 0;
  });
}
