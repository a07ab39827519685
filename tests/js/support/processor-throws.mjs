export default function fail(ids, scores) {
  if (ids.length > 5) throw new Error('ids are too many');
  scores[0] += 0;
}
