// Which files the checks and tests are about.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { at } from './run.mjs';

/** The files of a folder (not of those below) whose names match, as paths from the root, sorted; [] without the folder. */
export function filesIn(folder, pattern) {
  if (!existsSync(at(folder))) return [];
  return readdirSync(at(folder))
    .filter((name) => pattern.test(name))
    .sort()
    .map((name) => path.join(folder, name));
}

/** As filesIn, of the folders below too. */
export function filesBelow(folder, pattern) {
  return readdirSync(at(folder), { recursive: true })
    .map((name) => path.join(folder, String(name)))
    .filter((name) => pattern.test(name))
    .sort();
}

/** All our C. */
export const cFiles = () => [...filesBelow('src', /\.[ch]$/), ...filesIn('tests/c', /\.[ch]$/)];

/** The fixtures that stand beside the project where it is developed; tests/fixtures/ holds copies of what its tests need. */
export const SHARED_FIXTURES = at('../shared/fixtures');
