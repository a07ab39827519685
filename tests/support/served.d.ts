// The package as pages import it.
declare module '*/dist/index.js' {
  export const Engine: typeof import('../../js/index.js').Engine;
  export const modelCache: typeof import('../../js/index.js').modelCache;
  export const capabilities: typeof import('../../js/index.js').capabilities;
}
