// The keys of an interface of tests/types/api.d.ts, as the contract lists them.
import { readFileSync } from 'node:fs';

const contract = readFileSync(new URL('../types/api.d.ts', import.meta.url), 'utf8');

/** Keys that a form or a command line cannot hold: functions, and what belongs to a call. */
export const OF_CODE_ONLY = ['stopping', 'signal', 'onProgress'];

/** @param {string} name */
export function keysOf(name) {
  const body = new RegExp(`^export interface ${name} \\{\\n([\\s\\S]*?)^\\}`, 'm').exec(contract)?.[1] ?? '';
  const keys = [...body.matchAll(/^ {2}(\w+)\??:/gm)].map((match) => match[1]);
  if (keys.length < 5) throw new Error(`api.d.ts has no interface ${name} with keys`);
  return keys;
}

/** Every setting of generate() that can be written down. */
export const settingKeys = () =>
  [...keysOf('GenerationSettings'), ...keysOf('RunOptions')].filter((key) => !OF_CODE_ONLY.includes(key));
