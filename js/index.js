// The package in a page.
import { functionsFor } from './page/api.js';
import { browserHost } from './page/browser.js';
import { Engine as AnyEngine } from './page/engine.js';

export { QwenError } from './errors.js';

export class Engine extends AnyEngine {
  /** @override */
  static host = browserHost;
}

export const { capabilities, modelCache, selfTest } = functionsFor(browserHost);

/** @typedef {import('./types.js').ModelFile} ModelFile */
/** @typedef {import('./types.js').ModelSource} ModelSource */
/** @typedef {import('./types.js').LoadOptions} LoadOptions */
/** @typedef {import('./types.js').MemoryPlan} MemoryPlan */
/** @typedef {import('./types.js').Capabilities} Capabilities */
/** @typedef {import('./types.js').ModelInfo} ModelInfo */
/** @typedef {import('./types.js').Message} Message */
/** @typedef {import('./types.js').GenerationSettings} GenerationSettings */
/** @typedef {import('./types.js').RunOptions} RunOptions */
/** @typedef {import('./types.js').Progress} Progress */
/** @typedef {import('./types.js').Generation} Generation */
/** @typedef {import('./types.js').Chunk} Chunk */
/** @typedef {import('./types.js').Sequence} Sequence */
/** @typedef {import('./types.js').Result} Result */
/** @typedef {import('./types.js').FinishReason} FinishReason */
/** @typedef {import('./types.js').Ids} Ids */
