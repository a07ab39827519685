// The script of the worker that renders chat templates: apart from worker.js, for a page that does not chat needs none of it,
// and the engine's own worker never does.
import { toQwenError } from '../errors.js';
import { errorToPlain } from '../protocol.js';
import { renderTemplate } from './template.js';

/**
 * @typedef {import('../protocol.js').Answer} Answer
 * @typedef {import('../protocol.js').ToWorker} ToWorker
 */

/** As a worker's global object, in browsers and (node/worker.mjs) in Node. */
const scope =
  /** @type {{ onmessage: ((event: { data: ToWorker }) => void) | null, postMessage(message: Answer): void }} */ (
    /** @type {unknown} */ (self)
  );

scope.onmessage = (/** @type {{ data: ToWorker }} */ { data }) => {
  if (data.type !== 'render') return;
  const { id, template, variables } = data;
  try {
    scope.postMessage({ type: 'done', id, value: renderTemplate(template, variables) });
  } catch (error) {
    scope.postMessage({ type: 'error', id, error: errorToPlain(toQwenError(error)) });
  }
};
scope.postMessage({ type: 'ready' });
