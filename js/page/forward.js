// forward()'s input: a left-padded batch, checked and unpadded, with the positions whose logits are wanted.
import { qwenError } from '../errors.js';
import { checkedId } from './prompts.js';

/**
 * @param {import('../types.js').ForwardInput} input
 * @param {import('../types.js').ModelInfo} info
 * @returns {{ request: import('../protocol.js').ForwardRequest, shape: [number, number, number] }}
 */
export function forwardRequest({ input_ids, attention_mask, logits_to_keep = 0, output_hidden_states = false }, info) {
  const width = widthOf(input_ids);
  const lengths = Int32Array.from(input_ids, (_, row) => width - paddingOf(attention_mask, row, width));
  const positions = positionsOf(logits_to_keep, width);
  const wanted = new Set(positions);
  const ids = [];
  const keep = [];
  for (const [row, length] of lengths.entries()) {
    for (let at = width - length; at < width; at++) {
      ids.push(idAt(input_ids[row], row, at));
      keep.push(wanted.has(at) ? 1 : 0);
    }
  }
  const { vocabSize, hiddenSize, layers } = info;
  return {
    request: {
      ids: Int32Array.from(ids),
      lengths,
      keep: Uint8Array.from(keep),
      width,
      positions,
      hidden: output_hidden_states,
      shape: { vocabSize, hiddenSize, layers },
    },
    shape: [lengths.length, positions.length, vocabSize],
  };
}

/** @param {import('../types.js').Ids[]} rows */
function widthOf(rows) {
  if (!Array.isArray(rows) || rows.length === 0)
    throw qwenError('usage', 'input_ids: an array of at least one row is wanted');
  const width = rows[0]?.length ?? 0;
  for (const [i, row] of rows.entries()) {
    if (row?.length !== width) {
      throw qwenError(
        'usage',
        `input_ids: row ${i} has ${row?.length} ids, row 0 has ${width}: pad on the left, with an attention_mask`,
      );
    }
  }
  if (!(width > 0)) throw qwenError('usage', 'input_ids: the rows are empty');
  return width;
}

/**
 * @param {import('../types.js').Ids} row
 * @param {number} index
 * @param {number} at
 */
const idAt = (row, index, at) =>
  checkedId(row[at], () => `input_ids: ${String(row[at])} at position ${at} of row ${index}`);

/**
 * Pads at the start of a row.
 * @param {number[][] | undefined} mask
 * @param {number} row
 * @param {number} width
 */
function paddingOf(mask, row, width) {
  if (mask === undefined) return 0;
  const values = mask[row];
  if (values?.length !== width) {
    throw qwenError('usage', `attention_mask: row ${row} has ${values?.length} values, input_ids have ${width}`);
  }
  const pads = Array.from(values).findIndex((value) => Number(value) === 1);
  const sound = Array.from(values).every((value, i) => Number(value) === (i < pads ? 0 : 1));
  if (pads < 0 || !sound) {
    throw qwenError(
      'usage',
      `attention_mask: row ${row} is not left padding (zeros, then at least one 1, ones to the end)`,
    );
  }
  return pads;
}

/**
 * @param {number | number[]} keep
 * @param {number} width
 */
function positionsOf(keep, width) {
  if (typeof keep === 'number') {
    if (!Number.isInteger(keep) || keep < 0)
      throw qwenError('usage', `logits_to_keep is ${keep}: a number from 0 on is wanted`);
    const n = keep === 0 ? width : Math.min(keep, width);
    return Array.from({ length: n }, (_, i) => width - n + i);
  }
  for (const position of keep) {
    if (!Number.isInteger(position) || position < 0 || position >= width) {
      throw qwenError('usage', `logits_to_keep: position ${position} is not among 0 to ${width - 1}`);
    }
  }
  return Array.from(keep);
}
