// Configures and builds one CMake preset. Warnings are shown even where the build succeeds.
import { mkdirSync } from 'node:fs';
import { at, capture, quietly, say, which } from './run.mjs';

const NOISE = /^(\[\d+\/\d+\]|ninja: |cache:INFO|system_libs:INFO|shared:INFO)/;

/** Two builds of one folder at a time spoil each other: the second waits, where the system has flock(1). */
function oneAtATime(preset) {
  mkdirSync(at('build'), { recursive: true });
  return which('flock') ? ['flock', at('build', `${preset}.lock`)] : [];
}

/** Builds the named targets of a preset (default: all of it); throws with the compiler's words where that fails. */
export function cmakeBuild(preset, ...targets) {
  const cmake = [...oneAtATime(preset), 'cmake'];
  quietly(cmake[0], [...cmake.slice(1), '--preset', preset]);
  const args = ['--build', '--preset', preset, '--parallel'];
  if (targets.length) args.push('--target', ...targets);
  const done = capture(cmake[0], [...cmake.slice(1), ...args]);
  const text = `${done.stdout}${done.stderr}`.split('\n').filter((line) => line && !NOISE.test(line));
  if (!done.ok) throw new Error(`building ${preset} failed:\n${text.slice(0, 80).join('\n')}`);
  if (text.length) say(text.join('\n'));
}
