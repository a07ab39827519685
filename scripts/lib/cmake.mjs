// Configures and builds one CMake preset. Warnings are shown even where the build succeeds.
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import { at, capture, quietly, say, which } from './run.mjs';

const NOISE = /^(\[\d+\/\d+\]|ninja: |cache:INFO|system_libs:INFO|shared:INFO)/;

/** Two builds of one folder at a time spoil each other: the second waits, where the system has flock(1). */
function oneAtATime(preset) {
  mkdirSync(at('build'), { recursive: true });
  return which('flock') ? ['flock', at('build', `${preset}.lock`)] : [];
}

const isSamePlace = (a, b) => existsSync(a) && realpathSync(a) === realpathSync(b);

/**
 * Removes a build folder that was configured somewhere else: CMake writes absolute paths and refuses a checkout that was
 * moved or copied after its build. True where there was one.
 */
export function dropMovedBuild(folder) {
  const cache = path.join(folder, 'CMakeCache.txt');
  if (!existsSync(cache)) return false;
  const place = /^CMAKE_CACHEFILE_DIR:INTERNAL=(.*)$/m.exec(readFileSync(cache, 'utf8'))?.[1] ?? '';
  if (isSamePlace(place, folder)) return false;
  rmSync(folder, { recursive: true });
  return true;
}

/** Configures a preset; settings: of the form -DNAME=VALUE, kept until others are given. */
export function configure(preset, ...settings) {
  const [program, ...args] = [...oneAtATime(preset), 'cmake', '--preset', preset, ...settings];
  if (dropMovedBuild(at('build', preset))) say(`  build/${preset} was made in another place: building it anew`);
  quietly(program, args);
}

/** Builds the named targets of a preset (default: all of it); throws with the compiler's words where that fails. */
export function cmakeBuild(preset, ...targets) {
  configure(preset);
  const [program, ...args] = [...oneAtATime(preset), 'cmake', '--build', '--preset', preset, '--parallel'];
  if (targets.length) args.push('--target', ...targets);
  const done = capture(program, args);
  const text = `${done.stdout}${done.stderr}`.split('\n').filter((line) => line && !NOISE.test(line));
  if (!done.ok) throw new Error(`building ${preset} failed:\n${text.slice(0, 80).join('\n')}`);
  if (text.length) say(text.join('\n'));
}
