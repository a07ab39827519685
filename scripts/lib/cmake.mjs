// Configures and builds one CMake preset. Warnings are shown even where the build succeeds.
import { capture, quietly, say } from './run.mjs';

const NOISE = /^(\[\d+\/\d+\]|ninja: |cache:INFO|system_libs:INFO|shared:INFO)/;

const said = new Set();

/** Builds the named targets of a preset (default: all of it); throws with the compiler's words where that fails. */
export function cmakeBuild(preset, ...targets) {
  const configured = quietly('cmake', ['--preset', preset]);
  for (const line of configured.match(/not there yet: .*/g) ?? []) {
    if (!said.has(line)) say(`  ${line}`);
    said.add(line);
  }
  const args = ['--build', '--preset', preset, '--parallel'];
  if (targets.length) args.push('--target', ...targets);
  const done = capture('cmake', args);
  const text = `${done.stdout}${done.stderr}`.split('\n').filter((line) => line && !NOISE.test(line));
  if (!done.ok) throw new Error(`building ${preset} failed:\n${text.slice(0, 80).join('\n')}`);
  if (text.length) say(text.join('\n'));
}
