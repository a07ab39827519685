/** `cache`: what is kept on this device, and its end. */
import { modelCache } from '../node.js';
import { parseOptions, UsageError } from './options.js';
import { out } from './output.js';

export const summary = 'list and delete the models that are kept on this device';

export const help = `Usage: qwen2-wasm cache [list] [--json]
       qwen2-wasm cache delete KEY...
       qwen2-wasm cache evict BYTES       what was used the longest ago, until so many bytes have gone
       qwen2-wasm cache clear
`;

/** @param {string[]} keys */
async function remove(keys) {
  const known = (await modelCache.list()).map(({ key }) => key);
  if (keys.length === 0) throw new UsageError('which one? qwen2-wasm cache list shows the keys');
  for (const key of keys) {
    if (!known.includes(key))
      throw new UsageError(`nothing is kept under ${key}; qwen2-wasm cache list shows the keys`);
    await modelCache.delete(key);
  }
}

/** @param {string[]} args */
export async function run(args) {
  const { values, words } = parseOptions(args, { json: 'flag' }, Infinity);
  const [action = 'list', ...rest] = words;
  if (action === 'list') {
    const list = await modelCache.list();
    const row = (/** @type {import('../types.js').CacheEntry} */ { key, name, bytes, complete, lastUsed }) =>
      `${key}  ${`${(bytes / 1e6).toFixed(1)} MB`.padStart(10)}  ${complete ? 'complete' : 'partial '}  ${lastUsed.toISOString().slice(0, 16)}  ${name}\n`;
    out(values.json ? `${JSON.stringify(list)}\n` : list.map(row).join(''));
  } else if (action === 'delete') {
    await remove(rest);
  } else if (action === 'evict') {
    out(`${await modelCache.evict(Number(rest[0] ?? NaN))}\n`);
  } else if (action === 'clear') {
    await modelCache.clear();
  } else {
    throw new UsageError(`cache knows list, delete, evict and clear, not "${action}"`);
  }
  return 0;
}
