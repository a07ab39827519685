// Rounds of a chat in which the model calls tools and reads what they gave, until it answers.
import { messageOf, qwenError, throwIfAborted } from '../errors.js';

/**
 * @typedef {import('../types.js').Message} Message
 * @typedef {import('../types.js').ToolCall} ToolCall
 * @typedef {import('../types.js').RunnableTool} RunnableTool
 * @typedef {import('../types.js').RunToolsSettings} RunToolsSettings
 * @typedef {import('../types.js').Generation} Generation
 */

const MOST_ROUNDS = 8;

/**
 * @param {(messages: Message[], settings: RunToolsSettings) => Generation} chat
 * @param {Message[]} messages
 * @param {RunnableTool[]} tools
 * @param {RunToolsSettings} settings
 */
export async function runTools(chat, messages, tools, { maxRounds = MOST_ROUNDS, onError = 'tell', ...settings }) {
  if (!Number.isInteger(maxRounds) || maxRounds < 1)
    throw qwenError('usage', `maxRounds is ${maxRounds}: an integer of at least 1 is wanted`);
  if (onError !== 'throw' && onError !== 'tell')
    throw qwenError('usage', `onError is ${JSON.stringify(onError)}: 'throw' or 'tell' is wanted`);
  const runs = new Map(tools.map((tool) => [tool.function?.name, runnable(tool)]));
  const signal = settings.signal ?? new AbortController().signal;
  const said = [...messages];
  for (let round = 1; ; round++) {
    const result = await chat(said, { ...settings, tools }).result;
    const { text, tool_calls = [], finish_reason } = result.sequences[0];
    said.push({ role: 'assistant', content: text, ...(tool_calls.length ? { tool_calls } : {}) });
    if (finish_reason !== 'tool_calls') return { messages: said, result };
    const turns = await Promise.all(tool_calls.map((call) => turnOf(call, runs, signal, onError)));
    throwIfAborted(signal);
    said.push(...turns);
    if (round === maxRounds) {
      const note = `maxRounds is ${maxRounds}: the model still called tools in the last round`;
      return { messages: said, result: { ...result, notes: [...result.notes, note] } };
    }
  }
}

/** @param {RunnableTool} tool */
function runnable(tool) {
  if (typeof tool?.execute === 'function') return tool.execute.bind(tool);
  throw qwenError('usage', `the tool ${JSON.stringify(tool?.function?.name)} has no function execute`);
}

/**
 * The turn that tells what a call gave.
 * @param {ToolCall} call
 * @param {Map<string, RunnableTool['execute']>} runs
 * @param {AbortSignal} signal
 * @param {'throw' | 'tell'} onError
 * @returns {Promise<Message>}
 */
async function turnOf({ id, function: { name, arguments: text } }, runs, signal, onError) {
  const turn = (/** @type {string} */ content) => ({ role: /** @type {const} */ ('tool'), tool_call_id: id, content });
  try {
    const value = await runs.get(name)?.(JSON.parse(text), signal);
    return turn(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null'));
  } catch (error) {
    if (onError === 'throw') throw error;
    return turn(JSON.stringify({ error: messageOf(error) }));
  }
}
