// OpenAI's interface over an engine: the same programs, with no server.
export { engineFetch, handle } from './openai/handle.js';
