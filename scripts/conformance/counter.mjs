// Counts checks; a failure prints where it is and both values.
import { say } from '../lib/run.mjs';

const short = (value) => {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > 300 ? `${text.slice(0, 300)}...` : text;
};

export class Counter {
  passed = 0;
  failed = 0;
  skipped = 0;
  /** @type {Map<string, string>} Hashes by name. */
  hashes = new Map();
  where = '';

  check(ok, text) {
    if (ok) this.passed++;
    else this.failed++;
    if (!ok) say(`FAIL ${this.where}: ${text}`);
    return ok;
  }

  equal(what, got, want) {
    return this.check(got === want, `${what}: got ${short(got)}, wanted ${short(want)}`);
  }

  /** Two lists of ids. */
  sameIds(what, got, want) {
    let at = 0;
    while (at < got.length && at < want.length && got[at] === want[at]) at++;
    const same = at === got.length && at === want.length;
    return this.check(
      same,
      `${what}: ${got.length} ids, wanted ${want.length}; the first difference is at ${at}: got ${got[at]}, wanted ${want[at]}`,
    );
  }

  /** Every |got - want| <= tolerance. */
  near(what, got, want, tolerance) {
    if (got.length !== want.length)
      return this.check(false, `${what}: got ${got.length} floats, wanted ${want.length}`);
    let worst = 0;
    let at = 0;
    for (let i = 0; i < want.length; i++) {
      const distance = got[i] === want[i] ? 0 : Math.abs(got[i] - want[i]);
      if (distance > worst || Number.isNaN(distance)) [worst, at] = [Number.isNaN(distance) ? Infinity : distance, i];
    }
    return this.check(
      worst <= tolerance,
      `${what}: got ${got[at]}, wanted ${want[at]} at ${at} (difference ${worst}, tolerance ${tolerance})`,
    );
  }

  skip(count, why) {
    this.skipped += count;
    say(`skip ${this.where}: ${count} (${why})`);
  }

  /** Runs a part that may throw: that is one failure, and the others go on. */
  async try(where, part) {
    this.where = where;
    try {
      await part();
    } catch (error) {
      this.where = where;
      this.check(false, `threw ${error.code ?? error.name}: ${error.message}`);
    }
  }
}
