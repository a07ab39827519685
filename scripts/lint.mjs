// Every check of lib/lint.mjs; prints what is wrong.
import { checks } from './test/kinds.mjs';
import { say, script } from './lib/run.mjs';

await script(async () => {
  const { passed, failed } = await checks();
  say(`${passed} passed, ${failed} failed`);
  return failed ? 1 : 0;
});
