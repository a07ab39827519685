// What every script needs: where the project is, how a command is run, and how a line of progress looks.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, createReadStream, existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** A path inside the project. */
export const at = (...parts) => path.join(root, ...parts);

/** One line of progress. */
export function say(text) {
  process.stdout.write(`${text}\n`);
}

/** The full path of a program on PATH, or null. */
export function which(program) {
  for (const folder of (process.env.PATH ?? '').split(path.delimiter)) {
    const file = path.join(folder || '.', program);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

/**
 * Runs a program to its end and keeps what it printed.
 * @returns {{ok: boolean, code: number | null, stdout: string, stderr: string}} ok: it started and returned 0.
 */
export function capture(program, args, options = {}) {
  const done = spawnSync(program, args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28, ...options });
  const stderr = done.error ? `${program}: ${done.error.message}` : done.stderr;
  return { ok: done.status === 0, code: done.status, stdout: done.stdout ?? '', stderr: stderr ?? '' };
}

/** Runs a program whose output matters only when it fails: then an Error with the end of it is thrown. */
export function quietly(program, args, options = {}) {
  const done = capture(program, args, options);
  if (done.ok) return done.stdout;
  const tail = `${done.stdout}${done.stderr}`.trimEnd().split('\n').slice(-40).join('\n');
  throw new Error(`${[program, ...args].join(' ')} failed (${done.code ?? 'not started'}):\n${tail}`);
}

/**
 * As capture(), while other things go on: what the program printed, both streams together, and whether it returned 0.
 * @param {string} program
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions & { seconds?: number }} [options] seconds: killed after that time.
 * @returns {Promise<{ok: boolean, text: string}>}
 */
export function captureAside(program, args, options = {}) {
  const { seconds = 1800, ...others } = options;
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, ...others, stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    const timer = setTimeout(() => {
      text += `\n${path.basename(program)}: stopped after ${seconds} s\n`;
      child.kill('SIGKILL');
    }, seconds * 1000);
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (text += part));
    const end = (ok) => {
      clearTimeout(timer);
      resolve({ ok, text });
    };
    child.on('error', (error) => {
      text += `${program}: ${error.message}\n`;
      end(false);
    });
    child.on('close', (code) => end(code === 0));
  });
}

/** As quietly(), while other things go on. */
export async function quietlyAside(program, args, options = {}) {
  const { ok, text } = await captureAside(program, args, options);
  const tail = text.trimEnd().split('\n').slice(-40).join('\n');
  if (!ok) throw new Error(`${[program, ...args].join(' ')} failed:\n${tail}`);
}

/** Does all jobs, `width` at a time; the results stand in the order of the jobs. */
export async function inParallel(width, jobs) {
  const results = new Array(jobs.length);
  let next = 0;
  const work = async () => {
    while (next < jobs.length) {
      const i = next++;
      results[i] = await jobs[i]();
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  return results;
}

/** Runs a program whose output the reader sees as it comes; resolves to its exit code (128 + n for a signal). */
export function show(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'], ...options });
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 128));
  });
}

/** Hexadecimal SHA-256 of a file, or null where there is no such file. */
export async function sha256(file) {
  if (!existsSync(file)) return null;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk);
  return hash.digest('hex');
}

/** Runs main() of a script; an Error becomes its message on stderr and exit code 1. */
export async function script(main) {
  try {
    process.exitCode = (await main(process.argv.slice(2))) ?? 0;
  } catch (error) {
    process.stderr.write(`${process.env.DEBUG ? error.stack : error.message}\n`);
    process.exitCode = 1;
  }
}
