// cJSON 1.7.18, by hash, to build/deps/cjson: from its upstream release, else from Debian 13's source package.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import { at, quietlyAside, say, sha256 } from '../lib/run.mjs';
import { KEYRING, aptAcquireSettings, debianMirror } from './debian.mjs';

const SHA256 = '3aa806844a03442c00769b83e99970be70fbef03735ff898f4811dd03b9f5ee5';
const UPSTREAM = 'https://github.com/DaveGamble/cJSON/archive/refs/tags/v1.7.18.tar.gz';
const TARGET = 'build/deps/cjson';

async function fromUpstream(file) {
  const answer = await fetch(UPSTREAM, { signal: AbortSignal.timeout(20000) });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  writeFileSync(file, Buffer.from(await answer.arrayBuffer()));
}

/** Asks apt, with lists of its own so that the machine's are left alone. */
async function fromDebian(file) {
  const mirror = debianMirror();
  if (!mirror) throw new Error('no Debian mirror is known here');
  const folder = at('build/tmp/cjson');
  rmSync(folder, { recursive: true, force: true });
  for (const name of ['lists/partial', 'cache/archives/partial', 'sources'])
    mkdirSync(path.join(folder, name), { recursive: true });
  const source = `deb-src [signed-by=${KEYRING}] ${mirror} trixie main\n`;
  writeFileSync(path.join(folder, 'sources/trixie.list'), source);
  const config = path.join(folder, 'apt.conf');
  const settings = {
    'Dir::Etc::SourceList': '/dev/null',
    'Dir::Etc::SourceParts': path.join(folder, 'sources'),
    'Dir::State::Lists': path.join(folder, 'lists'),
    'Dir::Cache': path.join(folder, 'cache'),
    'APT::Sandbox::User': '',
  };
  const lines = Object.entries(settings).map(([key, value]) => `${key} "${value}";\n`);
  writeFileSync(config, aptAcquireSettings() + lines.join(''));
  const env = { ...process.env, APT_CONFIG: config };
  await quietlyAside('apt-get', ['update', '-q'], { env, cwd: folder });
  await quietlyAside('apt-get', ['source', '-q', '--download-only', 'cjson'], { env, cwd: folder });
  const tarball = readdirSync(folder).find((name) => name.endsWith('.orig.tar.gz'));
  if (!tarball) throw new Error('the source package has no .orig.tar.gz');
  await copyFile(path.join(folder, tarball), file);
}

async function fetchTarball(file) {
  const failures = [];
  const sources = [
    { name: UPSTREAM, get: fromUpstream },
    { name: "Debian's source package", get: fromDebian },
  ];
  for (const { name, get } of sources) {
    try {
      await get(file);
      const hash = await sha256(file);
      if (hash === SHA256) return;
      failures.push(`${name}: SHA-256 ${hash}, want ${SHA256}`);
    } catch (error) {
      failures.push(`${name}: ${error.cause?.code ?? error.message}`);
    }
  }
  throw new Error(`cJSON 1.7.18 cannot be fetched:\n  ${failures.join('\n  ')}`);
}

/** Makes build/deps/cjson/{cJSON.c,cJSON.h,LICENSE}. */
export async function setUpCjson() {
  if (existsSync(at(TARGET, 'cJSON.c'))) return;
  say('  fetching cJSON 1.7.18');
  const tarball = at('build/downloads/cjson-1.7.18.tar.gz');
  const fresh = at(`${TARGET}.new`);
  mkdirSync(path.dirname(tarball), { recursive: true });
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  if ((await sha256(tarball)) !== SHA256) await fetchTarball(tarball);
  const members = ['cJSON.c', 'cJSON.h', 'LICENSE'].map((name) => `cJSON-1.7.18/${name}`);
  await quietlyAside('tar', ['-xzf', tarball, '-C', fresh, '--strip-components=1', ...members]);
  rmSync(at(TARGET), { recursive: true, force: true });
  renameSync(fresh, at(TARGET));
}
