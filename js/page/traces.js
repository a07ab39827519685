// What becomes of a conversation's parts in a template, found by rendering it with marks in their places: a role that the
// template does not know, tools that it never mentions, would vanish without a word.
import { mapTexts, unescapedMarks, unusedMarks } from './marks.js';

/**
 * @typedef {Record<string, any>} Plain a message, a tool, a call
 * @typedef {{ messages: Plain[], tools: Plain[] | null }} Written
 * @typedef {{ what: 'text' | 'call' | 'tool' | 'arguments', index: number, call?: number }} Part index: of a message or a tool
 */

/** A conversation with marks in place of its texts, and what a rendering of it tells. */
export class Probe {
  /** @type {Written} */
  variables;
  #messages;
  #mark;
  /** @type {Part[]} */
  #parts = [];
  /** @type {Part[]} */
  #seen = [];

  /**
   * @param {Written} written
   * @param {string} template
   */
  constructor({ messages, tools }, template) {
    this.#messages = messages;
    [this.#mark] = unusedMarks({ messages, tools }, template, 1);
    this.variables = {
      messages: messages.map((message, i) => this.#message(message, i)),
      tools: tools && tools.map((tool, j) => this.#tool(tool, j)),
    };
  }

  /** @param {Part} part */
  #put(part) {
    this.#parts.push(part);
    return this.#text(this.#parts.length - 1);
  }

  /** @param {number} n */
  #text(n) {
    return `${this.#mark}${n}${this.#mark}`;
  }

  /**
   * @param {Plain} message
   * @param {number} index
   */
  #message(message, index) {
    const { content, tool_calls } = message;
    const probed = { ...message };
    if (typeof content === 'string' && content.trim()) probed.content = this.#put({ what: 'text', index });
    if (Array.isArray(tool_calls)) probed.tool_calls = tool_calls.map((call, k) => this.#call(call, index, k));
    return probed;
  }

  /**
   * @param {Plain} one
   * @param {number} index
   * @param {number} call
   */
  #call(one, index, call) {
    return changed(one, (inner) => ({
      ...inner,
      ...(typeof inner.name === 'string' ? { name: this.#put({ what: 'call', index }) } : {}),
      ...(typeof inner.arguments === 'string'
        ? { arguments: `{"${this.#put({ what: 'arguments', index, call })}": 0}` }
        : {}),
    }));
  }

  /**
   * @param {Plain} tool
   * @param {number} index
   */
  #tool(tool, index) {
    const text = this.#put({ what: 'tool', index });
    return changed(tool, (inner) =>
      typeof inner.name === 'string' ? { ...inner, name: text } : mapTexts(inner, (one) => one + text),
    );
  }

  /** @param {string} rendered the template's text of the variables */
  read(rendered) {
    const plain = unescapedMarks(rendered, this.#mark);
    // Arguments count as seen where their text stands as it is; a text of JSON has a backslash before each quote.
    const shown = (/** @type {Part} */ { what }, /** @type {number} */ n) =>
      plain.includes(what === 'arguments' ? `{"${this.#text(n)}"` : this.#text(n));
    this.#seen = this.#parts.filter(shown);
  }

  /** @param {Part['what']} what */
  #lost(what) {
    const lost = this.#parts.filter((part) => part.what === what && !this.#seen.includes(part));
    return [...new Set(lost.map(({ index }) => index))];
  }

  /** Whether a message of the role `developer` leaves no trace. */
  get losesDeveloper() {
    return this.#lost('text').some((index) => this.#messages[index].role === 'developer');
  }

  /**
   * Whether the template writes arguments that are text as they are.
   * @param {number} index of a message
   * @param {number} call of its calls
   */
  writesText(index, call) {
    return this.#seen.some((part) => part.what === 'arguments' && part.index === index && part.call === call);
  }

  /** Whether there are tools and the template mentions none of them. */
  get losesAllTools() {
    return Boolean(this.variables.tools?.length) && this.#lost('tool').length === this.variables.tools?.length;
  }

  /** What leaves no trace, in words. */
  notes() {
    const tools = this.#lost('tool');
    return [
      ...this.#lost('text').map((index) => lostMessage(index, this.#messages[index].role)),
      ...this.#lost('call').map(
        (index) =>
          `the tool calls of message ${index} leave no trace in the prompt: the chat template passes them over`,
      ),
      ...(tools.length === 0
        ? []
        : [
            `tools ${tools.join(', ')} leave no trace in the prompt: the chat template does not mention them; ` +
              `describe them in a system message, or give a template that knows tools`,
          ]),
    ];
  }
}

/**
 * OpenAI's shape of a tool or call has its inner part under 'function', others have it bare.
 * @param {Plain} outer
 * @param {(inner: Plain) => Plain} change
 */
export function changed(outer, change) {
  if (typeof outer !== 'object' || outer === null) return outer;
  const inner = outer.function;
  return typeof inner === 'object' && inner !== null ? { ...outer, function: change(inner) } : change(outer);
}

const ROLES = ['system', 'user', 'assistant', 'tool'];
/** What other programs call them. */
const NEAR_ROLES = new Map(
  Object.entries({ human: 'user', ai: 'assistant', bot: 'assistant', gpt: 'assistant', model: 'assistant' }),
);

/**
 * @param {number} index
 * @param {string} role
 */
function lostMessage(index, role) {
  const lost = `message ${index} leaves no trace in the prompt: the chat template`;
  if (ROLES.includes(role)) return `${lost} passes over this one of role "${role}"`;
  const lower = role.trim().toLowerCase();
  const near = ROLES.includes(lower) ? lower : NEAR_ROLES.get(lower);
  const wayOut = near ? `"${near}" is meant, perhaps` : `known ones are ${ROLES.join(', ')}`;
  return `${lost} knows no role "${role}" (${wayOut})`;
}
