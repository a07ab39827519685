// A logits_processor that leaves a NaN at the third token.
export default (ids, scores) => {
  if (ids.length === globalThis.promptLength + 2) scores[9] = NaN;
};
globalThis.promptLength ??= 4;
