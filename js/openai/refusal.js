// What is answered instead of an answer: OpenAI's error object.
import { messageOf } from '../errors.js';

export class Refusal extends Error {
  /**
   * @param {number} status of HTTP
   * @param {string} message
   * @param {{ param?: string | null, code?: string | null }} [what] param: the key that is meant
   */
  constructor(status, message, { param = null, code = null } = {}) {
    super(message);
    this.status = status;
    this.param = param;
    this.code = code;
  }
}

/**
 * @param {string} param
 * @param {string} why
 * @returns {never}
 */
export function refuse(param, why) {
  throw new Refusal(400, `${param}: ${why}`, { param });
}

/** Keys of a request that an engine's refusal means, by words of it. */
const MEANT = {
  n: /num_return_sequences|maxRows|\brows\b/,
  response_format: /response_format/,
  tool_choice: /tool_choice/,
  tools: /\btools?\b/,
  logit_bias: /logit_bias/,
  stop: /stop_strings|stop string/,
  messages: /\bmessages?\b|template/,
};

/**
 * @param {any} error
 * @returns {Refusal}
 */
export function refusalOf(error) {
  if (error instanceof Refusal) return error;
  const message = messageOf(error);
  if (error?.code === 'context')
    return new Refusal(400, message, { param: 'messages', code: 'context_length_exceeded' });
  if (error?.code !== 'usage') return new Refusal(500, message, { code: error?.code ?? 'internal' });
  const param = Object.entries(MEANT).find(([, words]) => words.test(message))?.[0] ?? null;
  return new Refusal(400, message, { param });
}

/** @param {Refusal} refusal */
export const errorBody = ({ status, message, param, code }) => ({
  error: { message, type: status < 500 ? 'invalid_request_error' : 'server_error', param, code },
});
