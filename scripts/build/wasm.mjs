// The four wasm builds, and the checks that let one glue serve them all.
import { createHash } from 'node:crypto';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { cmakeBuild } from '../lib/cmake.mjs';
import { at, say } from '../lib/run.mjs';

export const WASM_BUILDS = ['qwen2', 'qwen2-relaxed', 'qwen2-threads', 'qwen2-threads-relaxed'];
const GLUE = 'qwen2-threads';

const BIN = 'build/wasm/bin';

/**
 * The names in a wasm file's import or export section (a file with relaxed SIMD does not compile in every Node,
 * so the two sections are read here).
 */
export function wasmNames(bytes) {
  /** @type {{ imports: string[], exports: string[] }} */
  const names = { imports: [], exports: [] };
  let at = 8;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  const text = () => {
    const length = number();
    at += length;
    return Buffer.from(bytes.subarray(at - length, at)).toString();
  };
  const limits = () => {
    const flags = number();
    number();
    if (flags & 1) number();
  };
  const skipType = [() => number(), () => (at++, limits()), limits, () => (at += 2)];
  while (at < bytes.length) {
    const section = bytes[at++];
    const end = number() + at;
    if (section === 2) {
      for (let n = number(); n > 0; n--) {
        names.imports.push(`${text()}.${text()}`);
        skipType[bytes[at++]]();
      }
    } else if (section === 7) {
      for (let n = number(); n > 0; n--) {
        names.exports.push(text());
        at++;
        number();
      }
    }
    at = end;
  }
  return names;
}

/** The engine's own exports of a build, sorted. */
export function engineExports(build) {
  const { exports } = wasmNames(readFileSync(at('dist', `${build}.wasm`)));
  return exports.filter((name) => name.startsWith('qwx_')).sort();
}

/** The glue knows the imports and exports of the build that it was made with: the others may not go beyond these. */
function checkOneGlueServesAll() {
  const names = (build) => wasmNames(readFileSync(at(BIN, `${build}.wasm`)));
  const own = names(GLUE);
  for (const build of WASM_BUILDS) {
    const other = names(build);
    const strangers = [
      ...other.imports.filter((name) => !own.imports.includes(name)),
      ...other.exports.filter((name) => !own.exports.includes(name)),
    ];
    if (strangers.length) {
      throw new Error(
        `${build}.wasm has imports or exports that the glue of ${GLUE} does not know: ${strangers.join(', ')}`,
      );
    }
  }
}

/** What tells these wasm files from other ones: for the worker that belongs to them, and for what a device remembers of them. */
function writeVersion() {
  const hashOf = (/** @type {string | Buffer} */ bytes) =>
    createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const hashes = WASM_BUILDS.map((build) => hashOf(readFileSync(at('dist', `${build}.wasm`))));
  const lines = [
    `export const WASM_VERSION = '${hashOf(hashes.join())}';`,
    `export const WASM_HASHES = ${JSON.stringify(hashes)};`,
  ];
  writeFileSync(at('build/wasm/version.mjs'), `${lines.join('\n')}\n`);
}

/** Compiles and links; dist/*.wasm and the glue build/wasm/qwen2.js with its declaration. */
export function buildWasm() {
  say('  wasm');
  cmakeBuild('wasm', 'dist');
  checkOneGlueServesAll();
  for (const build of WASM_BUILDS) copyFileSync(at(BIN, `${build}.wasm`), at('dist', `${build}.wasm`));
  copyFileSync(at(BIN, `${GLUE}.js`), at('build/wasm/qwen2.js'));
  copyFileSync(at('scripts/build/glue.d.ts'), at('build/wasm/qwen2.d.ts'));
  writeVersion();
}
