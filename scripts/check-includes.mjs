// Includes point one way only: an include names a module of its own row or of an earlier one.
// A file of src/ that has no place here is an error too.
import { readFileSync, readdirSync } from 'node:fs';
import { at, say, script } from './lib/run.mjs';

const ROWS = [
  'status alloc bytes buf show',
  'dtype simd simd_native simd_wasm qmath jsonscan json',
  'config layout quant panel pool ops softmax',
  'kernel kernel_block kernel_float kernel_one kernel_tile acts calibrate matmul_scalar matmul kv kv_block attention',
  'unicode nfc pretokenize bpe added tokenizer_build tokenizer_rules tokenizer_json tokenizer',
  'tensors gguf gguf_values safetensors gguf_model hf hf_config model weights loader_state load_headers load_weights load_bind loader',
  'settings setkeys warpers logits sampler stop forward',
  'session step report',
  'qw selftest engine',
  'file_source wasm main',
].map((row) => row.split(' '));

/** The row of a file, -1 where it has none. */
const rowOf = (file) => ROWS.findIndex((row) => row.includes(file.replace(/\.\w+$/, '')));

/** The faults of one file, as sentences. */
export function faultsOf(file, text) {
  const own = rowOf(file);
  if (own < 0) return [`src/${file}: give it its place in scripts/check-includes.mjs`];
  const faults = [];
  for (const [, name] of text.matchAll(/^\s*#\s*include\s+"([^"]+)"/gm)) {
    if (name === 'cJSON.h') {
      if (file !== 'json.c') faults.push(`src/${file}: only json.c includes cJSON.h`);
      continue;
    }
    const other = rowOf(name);
    if (other > own) faults.push(`src/${file}: includes ${name}, which stands above it`);
    if (other < 0 && !name.endsWith('.inc'))
      faults.push(`src/${file}: includes ${name}, which has no place in the order`);
  }
  if (/^\s*#\s*include\s+<emscripten/m.test(text) && file !== 'wasm.c') {
    faults.push(`src/${file}: only wasm.c includes emscripten.h`);
  }
  return faults;
}

await script(() => {
  const files = readdirSync(at('src')).filter((name) => /\.[ch]$/.test(name));
  const faults = files.flatMap((name) => faultsOf(name, readFileSync(at('src', name), 'utf8')));
  for (const fault of faults) say(fault);
  say(`includes: ${files.length} files, ${faults.length} faults`);
  return faults.length ? 1 : 0;
});
