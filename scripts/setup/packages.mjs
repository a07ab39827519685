// Native tools. What is absent is installed with apt where that is possible (Debian or a kin of it, as root);
// elsewhere each missing tool is named with what gets it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { capture, quietly, say, which } from '../lib/run.mjs';

export const hasApt = () => which('apt-get') !== null && process.getuid?.() === 0;

let listsAreFresh = false;

/** Installs Debian packages; throws where apt does. */
export function aptInstall(...packages) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  if (!listsAreFresh) quietly('apt-get', ['update', '-q'], { env });
  listsAreFresh = true;
  quietly('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...packages], { env });
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

/** The browser that the tests drive, or null. */
export const findChromium = () =>
  process.env.CHROMIUM || which('chromium') || which('chromium-browser') || which('google-chrome');

const TOOLS = [
  { what: 'a C compiler', here: () => which('gcc') ?? which('cc'), debian: () => ['gcc', 'libc6-dev'] },
  { what: 'clang', here: () => which('clang'), debian: () => ['clang'] },
  { what: "clang's sanitizers and libFuzzer", here: hasSanitizers, debian: () => [`libclang-rt-${clangMajor()}-dev`] },
  { what: 'clang-format', here: () => which('clang-format'), debian: () => ['clang-format'] },
  { what: 'CMake', here: () => which('cmake'), debian: () => ['cmake'] },
  { what: 'Ninja', here: () => which('ninja'), debian: () => ['ninja-build'] },
  { what: 'Chromium', here: findChromium, debian: () => ['chromium'] },
];

/** Makes every native tool available, or throws with the list of what is missing. */
export function setUpPackages() {
  const missing = [];
  for (const tool of TOOLS) {
    if (tool.here()) continue;
    if (hasApt()) {
      say(`  installing ${tool.what} (${tool.debian().join(' ')})`);
      aptInstall(...tool.debian());
    }
    if (!tool.here()) missing.push(`${tool.what} (Debian: apt-get install ${tool.debian().join(' ')})`);
  }
  if (missing.length) throw new Error(`Missing, please install:\n  ${missing.join('\n  ')}`);
}
