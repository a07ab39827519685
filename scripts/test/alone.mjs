// Runs one kind of tests in a process of its own, beside others; the last line is its count.
//   node scripts/test/alone.mjs browser [--long]
import { say, script } from '../lib/run.mjs';
import { browserTests } from './kinds.mjs';

const KINDS = { browser: browserTests };

await script(async ([name, ...options]) => {
  const { passed, failed, skipped } = await KINDS[name]({ long: options.includes('--long') });
  say(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  return failed ? 1 : 0;
});
