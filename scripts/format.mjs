// Formats the C and the JavaScript in place.
import { cFiles } from './lib/files.mjs';
import { at, quietly, say, script } from './lib/run.mjs';

await script(() => {
  quietly('clang-format', ['-i', ...cFiles()]);
  quietly(at('node_modules/.bin/prettier'), ['--write', '--log-level', 'warn', '.']);
  say('formatted');
});
