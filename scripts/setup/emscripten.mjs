// Finds or makes an Emscripten that has the final relaxed SIMD intrinsics, and writes to build/toolchain which one it is:
// 'path FOLDER' or 'debian13 FOLDER' (a Debian 13 root that scripts/emcc enters).
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { at, capture, quietlyAside, say, which } from '../lib/run.mjs';
import { aptAcquireSettings, debianMirror } from './debian.mjs';
import { aptInstall, hasApt } from './packages.mjs';

const OLDEST = [3, 1, 60];
const EMSDK = '3.1.69';
const JAIL = 'build/debian13';

/** Whether the text of `emcc --version` names a version that is new enough. */
function isNewEnough(text) {
  const found = /(\d+)\.(\d+)\.(\d+)/.exec(text);
  if (!found) return false;
  const parts = found.slice(1).map(Number);
  const i = parts.findIndex((n, k) => n !== OLDEST[k]);
  return i < 0 || parts[i] > OLDEST[i];
}

const versionOf = (emcc) => capture(emcc, ['--version']).stdout.split('\n')[0];

/** The folder of an installed emcc, or null. */
function findInstalled() {
  const candidates = [which('emcc')];
  if (process.env.EMSDK) candidates.push(path.join(process.env.EMSDK, 'upstream/emscripten/emcc'));
  const good = candidates.find((emcc) => emcc && existsSync(emcc) && isNewEnough(versionOf(emcc)));
  return good ? path.dirname(good) : null;
}

/** Installs Debian's own package where it is new enough (Debian 13 and later). */
async function installPackage() {
  if (!hasApt()) return false;
  const candidate = /Candidate: (\S+)/.exec(capture('apt-cache', ['policy', 'emscripten']).stdout)?.[1] ?? '';
  if (!isNewEnough(candidate)) return false;
  say('  installing emscripten');
  await aptInstall('emscripten');
  return true;
}

/** Runs a command inside a Debian root, in a mount namespace of its own that ends with it. */
async function inJail(jail, ...command) {
  const steps = 'mount -t proc proc "$1/proc" && exec chroot "$@"';
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' };
  await quietlyAside('unshare', ['-m', 'sh', '-c', steps, 'sh', jail, ...command], { env });
}

/** What the root has no use for: 1.5 GB of ready libraries that lack some of ours and refuse additions. */
const LEFT_OUT = '/usr/share/emscripten/cache/sysroot/lib/*';

/** Makes a Debian 13 root with emscripten in it. False where this machine cannot. */
async function makeJail() {
  const mirror = debianMirror();
  if (!mirror || !hasApt()) return false;
  if (!which('debootstrap')) await aptInstall('debootstrap');
  const jail = at(`${JAIL}.new`);
  rmSync(jail, { recursive: true, force: true });
  say(`  making a Debian 13 root in ${JAIL} (about a minute)`);
  // A root that is not finished is made anew: nothing is gained by waiting for the disk after each file.
  const env = { ...process.env, DPKG_FORCE: 'unsafe-io' };
  await quietlyAside('debootstrap', ['--variant=minbase', 'trixie', jail, mirror], { env });
  writeFileSync(path.join(jail, 'etc/apt/apt.conf.d/90machine'), aptAcquireSettings());
  writeFileSync(path.join(jail, 'etc/dpkg/dpkg.cfg.d/90lean'), `force-unsafe-io\npath-exclude=${LEFT_OUT}\n`);
  say('  installing emscripten there');
  await inJail(jail, 'apt-get', 'update', '-q');
  await inJail(jail, 'apt-get', 'install', '-y', '-q', '--no-install-recommends', 'emscripten');
  await inJail(jail, 'apt-get', 'clean');
  rmSync(path.join(jail, 'usr/share/emscripten/cache'), { recursive: true, force: true });
  renameSync(jail, at(JAIL));
  return true;
}

/** The emsdk of a pinned version, from its own home. */
async function installEmsdk() {
  const folder = at('build/emsdk');
  say(`  installing emsdk ${EMSDK} in build/emsdk`);
  if (!existsSync(path.join(folder, 'emsdk'))) {
    const home = 'https://github.com/emscripten-core/emsdk.git';
    await quietlyAside('git', ['clone', '-q', '--depth', '1', '--branch', EMSDK, home, folder]);
  }
  for (const verb of ['install', 'activate']) await quietlyAside(path.join(folder, 'emsdk'), [verb, EMSDK]);
  return path.join(folder, 'upstream/emscripten');
}

function use(kind, place) {
  mkdirSync(at('build'), { recursive: true });
  writeFileSync(at('build/toolchain'), `${kind} ${place}\n`);
}

const works = () => existsSync(at('build/toolchain')) && isNewEnough(versionOf(at('scripts/emcc')));

/** The first toolchain that is there or can be had. */
async function choose() {
  const installed = findInstalled();
  if (installed) return use('path', installed);
  if (await installPackage()) return use('path', path.dirname(which('emcc') ?? '/usr/bin/emcc'));
  if (existsSync(at(JAIL)) || (await makeJail())) return use('debian13', JAIL);
  use('path', await installEmsdk());
}

/** Emscripten compiles its C library for each kind of build at first use; do it here, where the wait is announced. */
async function warmCache() {
  const stamp = at('build/emscripten-cache/warm');
  const toolchain = readFileSync(at('build/toolchain'), 'utf8');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === toolchain) return;
  say("  compiling Emscripten's C library (once, about a minute)");
  const folder = at('build/tmp');
  mkdirSync(folder, { recursive: true });
  const source = path.join(folder, 'warm.c');
  writeFileSync(source, 'int main(void) { return 0; }\n');
  const options = ['-O2', '-sDEFAULT_TO_CXX=0', '-sMALLOC=emmalloc', '-sALLOW_MEMORY_GROWTH'];
  for (const threads of [[], ['-pthread']])
    await quietlyAside(at('scripts/emcc'), [source, ...options, ...threads, '-o', path.join(folder, 'warm.js')]);
  writeFileSync(stamp, toolchain);
}

/** Makes scripts/emcc work. */
export async function setUpEmscripten() {
  if (!works()) {
    await choose();
    if (!works()) throw new Error(`scripts/emcc does not run:\n${capture(at('scripts/emcc'), ['--version']).stderr}`);
    say(`  ${versionOf(at('scripts/emcc'))}`);
  }
  await warmCache();
}
