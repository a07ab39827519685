// A logits_processor that leaves two tokens, which tell what it saw: 10 where suppress_tokens had barred 7 before it came
// (else 20), and 11 where no warper had thinned the scores out (else 21). The first is a little more likely.
export default (ids, scores) => {
  const processed = scores[7] === -Infinity;
  const whole = scores.filter((score) => score > -Infinity).length > 1000;
  scores.fill(-Infinity);
  scores[processed ? 10 : 20] = 5;
  scores[whole ? 11 : 21] = 4.9;
};
