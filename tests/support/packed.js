// The package as it would be installed: packed, and unpacked into the node_modules of an empty folder.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @returns {{ folder: string, installed: string, tarball: Buffer, entries: Array<{ path: string, size: number }>, remove(): void }}
 * folder: an npm project that has the package; installed: where
 */
export function packed() {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'qw-packed-'));
  // dist/ is taken as it is: the build is the caller's.
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const [{ filename, files }] = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })); // prettier-ignore
  const installed = path.join(folder, 'node_modules/qwen2-wasm');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['xzf', path.join(folder, filename), '-C', installed, '--strip-components=1']);
  writeFileSync(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  return {
    folder,
    installed,
    tarball: readFileSync(path.join(folder, filename)),
    entries: files,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
