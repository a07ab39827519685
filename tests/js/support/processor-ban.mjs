// A logits_processor that forbids even ids, and allows 7 alone once 3 tokens are out.
export default function ban(ids, scores) {
  for (let id = 0; id < scores.length; id += 2) scores[id] = -Infinity;
  if (ids.length >= 3 + globalThis.promptLength) scores.fill(-Infinity).set([0], 7);
}
globalThis.promptLength ??= 4;
