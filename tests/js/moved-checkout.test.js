// A checkout that was moved or copied after its build: CMake's folder names the old place.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { dropMovedBuild } from '../../scripts/lib/cmake.mjs';

/** @param {string} project */
const configure = (project) =>
  spawnSync('cmake', ['-S', project, '-B', path.join(project, 'build')], { encoding: 'utf8' });

test('a build folder of another place is dropped, that of this place is kept', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'qw-moved-'));
  try {
    const [old, copy, link] = ['old', 'copy', 'link'].map((name) => path.join(folder, name));
    mkdirSync(old);
    writeFileSync(path.join(old, 'CMakeLists.txt'), 'cmake_minimum_required(VERSION 3.25)\nproject(moved NONE)\n');
    assert.equal(configure(old).status, 0);
    cpSync(old, copy, { recursive: true });
    assert.match(configure(copy).stderr, /different than the directory/, 'CMake itself refuses the copy');

    assert.equal(dropMovedBuild(path.join(copy, 'build')), true);
    assert.equal(configure(copy).status, 0);
    assert.equal(dropMovedBuild(path.join(copy, 'build')), false, 'configured here now');

    symlinkSync(old, link);
    assert.equal(dropMovedBuild(path.join(link, 'build')), false, 'the same place by another name');
    assert.equal(dropMovedBuild(path.join(folder, 'nothing')), false);
    rmSync(old, { recursive: true });
    cpSync(copy, old, { recursive: true });
    rmSync(copy, { recursive: true });
    assert.equal(dropMovedBuild(path.join(old, 'build')), true, 'the place that it names is gone');
    assert.equal(existsSync(path.join(old, 'build')), false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
