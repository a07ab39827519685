// What a GGUF file's header says of the work that a token is: multiply-adds, and bytes of the file.
import { closeSync, openSync, readSync } from 'node:fs';

/** Vocabulary and merges make a header of some megabytes. */
const HEADER_BYTES = 64 << 20;

/** By ggml's number of the type: weights of a block, and its bytes. */
const BLOCKS = {
  0: [1, 4],
  1: [1, 2],
  2: [32, 18],
  3: [32, 20],
  6: [32, 22],
  7: [32, 24],
  8: [32, 34],
  10: [256, 84],
  11: [256, 110],
  12: [256, 144],
  13: [256, 176],
  14: [256, 210],
  30: [1, 2],
};

/** Bytes of a value by the number of its type; 8 is text, 9 an array. */
const VALUE_BYTES = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];

/** The matrices of a file: name, multiply-adds for one token, bytes. */
function matricesOf(file) {
  const bytes = Buffer.alloc(HEADER_BYTES);
  const handle = openSync(file, 'r');
  readSync(handle, bytes, 0, HEADER_BYTES, 0);
  closeSync(handle);
  let at = 8;
  const u32 = () => bytes.readUInt32LE((at += 4) - 4);
  const u64 = () => Number(bytes.readBigUInt64LE((at += 8) - 8));
  const text = () => {
    const n = u64();
    return bytes.toString('utf8', at, (at += n));
  };
  const skip = (type) => {
    if (type === 8) text();
    else if (type !== 9) at += VALUE_BYTES[type];
    else {
      const inner = u32();
      for (let n = u64(); n > 0; n--) skip(inner);
    }
  };
  const tensors = u64();
  for (let n = u64(); n > 0; n--) {
    text();
    skip(u32());
  }
  const matrices = [];
  for (let i = 0; i < tensors; i++) {
    const name = text();
    const sizes = Array.from({ length: u32() }, u64);
    const [weights, size] = BLOCKS[u32()];
    u64();
    const macs = sizes.reduce((product, n) => product * n, 1);
    if (sizes.length === 2) matrices.push({ name, macs, bytes: (macs / weights) * size });
  }
  return matrices;
}

/**
 * The work of one token. Counted are the matrices of all layers and the head (the embedding where it is the head too); norms,
 * biases and the row of the embedding are not.
 * @param {string} file
 * @returns {{ bytes: number, macs: number, promptMacs: (n: number) => number }} of one token; multiply-adds of a prompt of n
 *   tokens, whose last one alone goes through the head and, keys and values aside, the last layer.
 */
export function workOf(file) {
  const matrices = matricesOf(file);
  const head = matrices.some(({ name }) => name === 'output.weight') ? 'output.weight' : 'token_embd.weight';
  const used = matrices.filter(({ name }) => name === head || name.startsWith('blk.'));
  const layers = 1 + Math.max(...used.map(({ name }) => Number(/^blk\.(\d+)\./.exec(name)?.[1] ?? 0)));
  const lastOnly = ({ name }) =>
    name === head || (name.startsWith(`blk.${layers - 1}.`) && !/attn_[kv]\.weight$/.test(name));
  const sum = (key, list) => list.reduce((total, one) => total + one[key], 0);
  const once = sum('macs', used.filter(lastOnly));
  const macs = sum('macs', used);
  return { bytes: sum('bytes', used), macs, promptMacs: (n) => n * (macs - once) + once };
}
