// Native tools. What is absent is installed with apt where that is possible (Debian or a kin of it, as root);
// elsewhere each missing tool is named with what gets it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findChromium, findFirefox, findWebKitDriver } from '../lib/browsers.mjs';
import { capture, quietlyAside, say, which } from '../lib/run.mjs';

export const hasApt = () => which('apt-get') !== null && process.getuid?.() === 0;

let listsAreFresh = false;

/** Installs Debian packages; throws where apt does. */
export async function aptInstall(...packages) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  if (!listsAreFresh) await quietlyAside('apt-get', ['update', '-q'], { env });
  listsAreFresh = true;
  await quietlyAside('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...packages], { env });
}

/** Whether clang can link its sanitizers and libFuzzer: they come in a package of their own. */
function hasSanitizers() {
  const folder = mkdtempSync(path.join(tmpdir(), 'qw-'));
  try {
    const source = path.join(folder, 'a.c');
    writeFileSync(source, 'int LLVMFuzzerTestOneInput(const char *p, long n) { (void)p; (void)n; return 0; }\n');
    return capture('clang', ['-fsanitize=fuzzer,address', source, '-o', path.join(folder, 'a')]).ok;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function clangMajor() {
  return /version (\d+)/.exec(capture('clang', ['--version']).stdout)?.[1];
}

/** What a build of dist/ needs; npm start installs no more than that. */
const BUILD_TOOLS = [
  { what: 'CMake', here: () => which('cmake'), debian: () => ['cmake'] },
  { what: 'Ninja', here: () => which('ninja'), debian: () => ['ninja-build'] },
];

const TEST_TOOLS = [
  { what: 'a C compiler', here: () => which('gcc') ?? which('cc'), debian: () => ['gcc', 'libc6-dev'] },
  { what: 'clang', here: () => which('clang'), debian: () => ['clang'] },
  { what: "clang's sanitizers and libFuzzer", here: hasSanitizers, debian: () => [`libclang-rt-${clangMajor()}-dev`] },
  { what: 'clang-format', here: () => which('clang-format'), debian: () => ['clang-format'] },
  { what: 'Chromium', here: findChromium, debian: () => ['chromium'] },
  { what: 'Firefox', here: findFirefox, debian: () => ['firefox-esr'] },
  { what: "WebKitGTK's driver", here: findWebKitDriver, debian: () => ['webkit2gtk-driver'] },
  { what: 'a screen in memory', here: () => which('xvfb-run') && which('xauth'), debian: () => ['xvfb', 'xauth'] },
];

/** Installs what is absent with one call of apt. */
async function installMissing(tools) {
  const missing = tools.filter((tool) => !tool.here());
  if (!missing.length || !hasApt()) return;
  const packages = missing.flatMap((tool) => tool.debian());
  say(`  installing ${missing.map((tool) => tool.what).join(', ')} (${packages.join(' ')})`);
  await aptInstall(...packages);
}

/**
 * Makes native tools available, or throws with the list of what is missing.
 * @param {boolean} tests those of the tests too
 */
export async function setUpPackages(tests) {
  const tools = tests ? [...BUILD_TOOLS, ...TEST_TOOLS] : BUILD_TOOLS;
  await installMissing(tools.filter((tool) => tool.here !== hasSanitizers));
  await installMissing(tools); // the package of the sanitizers is named after the clang that is there now
  const missing = tools
    .filter((tool) => !tool.here())
    .map(({ what, debian }) => `${what} (Debian: apt-get install ${debian().join(' ')})`);
  if (missing.length) throw new Error(`Missing, please install:\n  ${missing.join('\n  ')}`);
}
