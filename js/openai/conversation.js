// Messages and tools of a request, checked where they are given: what is wrong is told with its place.
import { refuse } from './refusal.js';

/** @typedef {Record<string, any>} Plain */

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool'];

/**
 * @param {unknown} messages
 * @returns {any[]}
 */
export function messagesOf(messages) {
  if (!Array.isArray(messages) || !messages.length) refuse('messages', 'a list of at least one message is wanted');
  /** @type {Set<string>} calls that have no result yet */
  const open = new Set();
  return messages.map((/** @type {any} */ message, /** @type {number} */ i) => {
    const place = `messages[${i}]`;
    if (typeof message !== 'object' || message === null) refuse(place, 'an object is wanted');
    if (!ROLES.includes(message.role))
      refuse(`${place}.role`, `${JSON.stringify(message.role)}: one of ${ROLES.join(', ')} is wanted`);
    if (message.role === 'tool' && !open.delete(message.tool_call_id))
      refuse(`${place}.tool_call_id`, `${JSON.stringify(message.tool_call_id)} is no call without a result`);
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
    if (!Array.isArray(calls)) refuse(`${place}.tool_calls`, 'a list is wanted');
    calls.forEach((/** @type {any} */ call, /** @type {number} */ k) =>
      open.add(callId(call, `${place}.tool_calls[${k}]`)),
    );
    return { ...message, content: contentOf(message, place, calls.length > 0) };
  });
}

/**
 * @param {any} call
 * @param {string} place
 * @returns {string}
 */
function callId(call, place) {
  if (typeof call?.id !== 'string') refuse(`${place}.id`, 'a text is wanted');
  if (typeof call.function?.name !== 'string') refuse(`${place}.function.name`, 'a text is wanted');
  try {
    JSON.parse(call.function.arguments);
  } catch {
    refuse(`${place}.function.arguments`, `${JSON.stringify(call.function.arguments)} is no JSON`);
  }
  return call.id;
}

/**
 * @param {Plain} message
 * @param {string} place
 * @param {boolean} calls
 */
function contentOf({ content, role, refusal }, place, calls) {
  const empty = content === undefined || content === null;
  if (empty && role === 'assistant' && (calls || refusal)) return refusal ?? null;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) refuse(`${place}.content`, `${empty ? 'missing' : typeof content}: text is wanted`);
  return content.map((/** @type {any} */ part, /** @type {number} */ j) => {
    const text = part?.type === 'refusal' ? part.refusal : part?.text;
    if (!['text', 'refusal'].includes(part?.type) || typeof text !== 'string')
      refuse(`${place}.content[${j}].type`, `${JSON.stringify(part?.type)}: only parts of type "text" are read`);
    return { type: 'text', text };
  });
}

/**
 * Tools and the choice among them, as chat() takes them.
 * @param {Plain} body
 * @returns {{ tools?: any[], tool_choice?: any, parallel_tool_calls?: boolean }}
 */
export function toolsOf({ tools = [], tool_choice: choice = 'auto', parallel_tool_calls }) {
  if (!Array.isArray(tools)) refuse('tools', 'a list is wanted');
  const names = tools.map(toolName);
  names.forEach((name, i) => {
    if (names.indexOf(name) !== i) refuse(`tools[${i}].function.name`, `two tools are named ${JSON.stringify(name)}`);
  });
  const { tools: some, choice: chosen } = choiceAmong(tools, names, choice);
  return some.length ? { tools: some, tool_choice: chosen, parallel_tool_calls } : {};
}

/**
 * @param {any} tool
 * @param {number} i
 * @returns {string}
 */
function toolName(tool, i) {
  const place = `tools[${i}]`;
  if (tool?.type !== 'function') refuse(`${place}.type`, `${JSON.stringify(tool?.type)}: only "function" is offered`);
  const { name, parameters } = tool.function ?? {};
  if (typeof name !== 'string' || !/^[\w.-]{1,64}$/.test(name))
    refuse(`${place}.function.name`, `${JSON.stringify(name)}: letters, digits, _ . - are wanted, at most 64`);
  if (parameters !== undefined && parameters !== null && (typeof parameters !== 'object' || Array.isArray(parameters)))
    refuse(`${place}.function.parameters`, 'a JSON Schema is wanted, as an object');
  return name;
}

/**
 * @param {any[]} tools
 * @param {string[]} names
 * @param {any} choice
 * @returns {{ tools: any[], choice: any }}
 */
function choiceAmong(tools, names, choice) {
  const known = (/** @type {unknown} */ name) => {
    if (!names.includes(/** @type {string} */ (name)))
      refuse('tool_choice', `${JSON.stringify(name)} is not among the tools (${names.join(', ') || 'none'})`);
  };
  if (['auto', 'none'].includes(choice)) return { tools, choice };
  if (!tools.length) refuse('tool_choice', 'there are no tools');
  if (choice === 'required') return { tools, choice };
  if (choice?.type === 'function') {
    known(choice.function?.name);
    return { tools, choice };
  }
  const allowed = choice?.type === 'allowed_tools' ? choice.allowed_tools : null;
  if (!Array.isArray(allowed?.tools) || !['auto', 'required'].includes(allowed.mode))
    refuse('tool_choice', `${JSON.stringify(choice)}: "auto", "none", "required" or a tool is wanted`);
  const some = allowed.tools.map((/** @type {any} */ tool) => tool?.function?.name);
  some.forEach(known);
  return { tools: tools.filter((_, i) => some.includes(names[i])), choice: allowed.mode };
}
