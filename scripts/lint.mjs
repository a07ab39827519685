// Every check of lib/lint.mjs, or those of JavaScript side by side; prints what is wrong.
//   node scripts/lint.mjs [--js]
import { CHECKS, JS_CHECKS } from './lib/lint.mjs';
import { checks } from './test/kinds.mjs';
import { say, script } from './lib/run.mjs';

await script(async (args) => {
  const js = args.includes('--js');
  const { passed, failed } = await checks(js ? JS_CHECKS : CHECKS, js ? JS_CHECKS.length : 1);
  say(`${passed} passed, ${failed} failed`);
  return failed ? 1 : 0;
});
