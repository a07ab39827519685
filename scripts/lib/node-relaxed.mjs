// A Node whose WebAssembly has relaxed SIMD: the running one, else the one that set-up put in build/node24.
import { existsSync } from 'node:fs';
import { at } from './run.mjs';

// (module (func (result v128) i32.const 0 i8x16.splat i32.const 0 i8x16.splat i16x8.relaxed_dot_i8x16_i7x16_s))
const PROBE = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 0, 253, 15, 65, 0, 253, 15,
  253, 146, 2, 11,
];

export const hasRelaxedSimd = () => WebAssembly.validate(new Uint8Array(PROBE));

const OWN = at(`build/node24/node_modules/node-${process.platform}-${process.arch}/bin/node`);

/** Its path, or null where there is none. */
export function nodeWithRelaxedSimd() {
  if (hasRelaxedSimd()) return process.execPath;
  return existsSync(OWN) ? OWN : null;
}
