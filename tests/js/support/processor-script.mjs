// A logits_processor that leaves one id: script.mjs?prompt=LENGTH&ids=1,2,3 dictates what is generated. With &more, the id only
// gets the best score by far, and all others keep theirs.
const { searchParams } = new URL(import.meta.url);
const script = searchParams.get('ids').split(',').map(Number);
const start = Number(searchParams.get('prompt'));

export default (ids, scores) => {
  const id = script[Math.min(ids.length - start, script.length - 1)];
  if (!searchParams.has('more')) scores.fill(-Infinity);
  scores[id] = 1000;
};
