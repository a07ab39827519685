// What is to be shown, line by line: a figure out of a run's results, and its marks. A figure is at least its marks, or at most
// where `most` says so; undefined where that part did not run.

/**
 * @typedef {object} Line
 * @property {string} name
 * @property {(r: any) => number | undefined} value
 * @property {number} must
 * @property {number} [aim]
 * @property {boolean} [most]
 * @property {string} [unit]
 */

const HOSTS = { node: 'Node', chromium: 'Chromium' };
const BUILDS = { auto: 'auto', base: 'base' };

/** A ratio of compare.mjs, of the real file or (type) of a random one. */
const ratio = (r, us, peer, what, type) => (type ? r.random?.[type] : r.compare)?.ratios[`${us}/${peer}`]?.[what];

/** GB/s that the machine reads with so many threads; the faster of the builds of roofline.c. */
const readSpeed = (r, threads) => Math.max(...Object.values(r.roofline).map((build) => build[threads].read));

/** GMAC/s of the fastest tile kernel of roofline.c in the build that an engine runs. */
const tileSpeed = (r, simd, threads) =>
  Math.max(...Object.values(r.roofline[simd][threads].kernels).map(({ tile }) => tile));

/** Only where all those parts of the run are there. */
const having = (parts, value) => (r) => (parts.every((part) => r[part]) ? value(r) : undefined);

/** @returns {Line[]} */
function realFile() {
  const marks = {
    wllama: { decode: { auto: [6, 8], base: [4.5, 5.5] }, prefill: { auto: [17, 22], base: [11, 13] } },
    native: { decode: { auto: [1.25, 1.6], base: [0.9, 1.1] }, prefill: { auto: [0.9, 1.2], base: [0.6, 0.7] } },
  };
  const lines = [];
  for (const [peer, kinds] of Object.entries(marks)) {
    for (const [what, builds] of Object.entries(kinds)) {
      for (const [build, [must, aim]] of Object.entries(builds)) {
        const us = build === 'auto' ? 'ours' : 'ours-base';
        lines.push({ name: `${what}, ${build} / ${peer}`, must, aim, value: (r) => ratio(r, us, peer, what) });
      }
    }
  }
  lines.push({
    name: 'decode, auto / memory read',
    unit: '%',
    must: 65,
    aim: 80,
    value: having(['roofline', 'node'], (r) => (r.node.auto.decode * r.work.bytes) / 1e7 / readSpeed(r, r.threads)),
  });
  for (const build of Object.keys(BUILDS)) {
    lines.push({
      name: `prefill, ${build} / its best tile kernel`,
      unit: '%',
      must: 80,
      aim: 100,
      value: having(['roofline', 'node'], ({ node: { [build]: ours }, ...r }) => {
        return (ours.prefill * r.work.promptMacs) / 1e7 / tileSpeed(r, ours.simd, r.threads);
      }),
    });
  }
  return lines;
}

/** @returns {Line[]} */
function randomFiles() {
  const line = (type, what, peer, must, aim) => ({
    name: `random ${type}: ${what}, auto / ${peer}`,
    must,
    aim,
    value: (r) => ratio(r, 'ours', peer, what, type),
  });
  return [
    line('q8_0', 'decode', 'native', 1.1, 1.5),
    line('q8_0', 'decode', 'wllama', 4),
    line('q8_0', 'prefill', 'native', 0.7),
    line('q8_0', 'prefill', 'wllama', 9),
    line('q4_0', 'decode', 'native', 1.4, 1.8),
    line('q4_0', 'decode', 'wllama', 7.5),
    line('q4_0', 'prefill', 'native', 0.75),
    line('q4_0', 'prefill', 'wllama', 25),
  ];
}

/** What the second thread brings, beside what it brings to the limit that binds. @returns {Line[]} */
function growth(build) {
  const grown = (r, what) => r.node[build][what] / r.node[`${build}1`][what];
  const tiles = (r) => tileSpeed(r, r.node[build].simd, r.threads) / tileSpeed(r, r.node[build].simd, 1);
  const line = (what, limit, of) => ({
    name: `1 to 2 threads, ${build}: growth of ${what} / of ${limit}`,
    unit: '%',
    must: 90,
    value: having(['roofline', 'node'], (r) => (100 * grown(r, what)) / of(r)),
  });
  return [
    line('decode', 'memory read', (r) => readSpeed(r, r.threads) / readSpeed(r, 1)),
    line('prefill', 'its best tile kernel', tiles),
  ];
}

/** @returns {Line[]} */
function engine(host) {
  const where = HOSTS[host];
  const line = (name, marks, value) => ({
    name: `${where}: ${name}`,
    ...marks,
    value: having([host], (r) => value(r[host])),
  });
  const lines = ['decode', 'prefill'].map((what) =>
    line(`${what}, build of one thread / threads build on one`, { unit: '%', must: 95 }, ({ auto1, threads1 }) => {
      return (100 * auto1[what]) / threads1[what];
    }),
  );
  for (const build of Object.keys(BUILDS)) {
    const add = (name, marks, value) => lines.push(line(`${build}, ${name}`, marks, (all) => value(all[build])));
    add('decode at 4,000 tokens of context / at 16', { must: 0.65 }, (e) => e.decodeAt4000 / e.greedy);
    // The mark of auto is for machines where relaxed SIMD wins.
    add('8 rows together / one row', { must: build === 'auto' ? 4 : 2.5 }, (e) => e.batch8 / e.greedy);
    add('first token of a 20-token prompt, in decode steps', { most: true, must: 6 }, (e) => {
      return (e.firstToken * e.greedy) / 1000;
    });
    add('top-k 50 and top-p 0.9, of a decode step', { most: true, must: 3, unit: '%' }, (e) => {
      return 100 * (e.greedy / e.sampled - 1);
    });
  }
  return lines;
}

/** @returns {Line[]} */
function others() {
  const most = true;
  const region = (host) => ({
    name: `${HOSTS[host]}: a parallel region that does nothing`,
    unit: 'µs',
    must: 3,
    most,
    value: (r) => r.kernels?.[host].region,
  });
  const load = (from, words) => ({
    name: `load ${words} / reading it`,
    must: 1.5,
    most,
    value: (r) => r.page && r.page.loads[from].load / r.page.loads[from].read,
  });
  return [
    region('node'),
    region('chromium'),
    {
      name: 'a second thread spins after a region, before it sleeps',
      unit: 'µs',
      must: 50,
      most,
      value: (r) => r.kernels?.spin,
    },
    load('opfs', 'from OPFS'),
    load('server', 'from a local server'),
    {
      name: "page's longest task while loading and generating (0: none of 50 ms)",
      unit: 'ms',
      must: 50,
      most,
      value: (r) => r.page?.longestTask,
    },
    { name: 'idle engine in Chromium, of a core', unit: '%', must: 1, most, value: (r) => r.page?.idle },
    { name: 'idle engine in Node, of a core', unit: '%', must: 1, most, value: (r) => r.nodeIdle },
    {
      name: 'growth of memory over 1,000 generations',
      unit: 'MB',
      must: 1,
      most,
      value: (r) => r.page && (r.page.generations.after - r.page.generations.before) / 1e6,
    },
  ];
}

/** @type {Line[]} */
export const LINES = [
  ...realFile(),
  ...randomFiles(),
  ...growth('auto'),
  ...growth('base'),
  ...engine('node'),
  ...engine('chromium'),
  ...others(),
];

/** Every line with its figure, and what is to be said of it. */
export function judge(results) {
  return LINES.map(({ name, value, must, aim, most = false, unit = '' }) => {
    const figure = value(results);
    const meets = (mark) => (most ? figure <= mark : figure >= mark);
    const verdict = !Number.isFinite(figure)
      ? 'not measured'
      : aim !== undefined && meets(aim)
        ? 'aim met'
        : meets(must)
          ? 'met'
          : 'NOT MET';
    return { name, figure: Number.isFinite(figure) ? figure : null, unit, most, must, aim, verdict };
  });
}

/** The lines as rows of text: name, figure, must, aim, verdict; the head first. */
function cells(lines) {
  const digits = (n) => (Math.abs(n) >= 100 ? n.toFixed(0) : Math.abs(n) >= 10 ? n.toFixed(1) : n.toFixed(2));
  const rows = lines.map(({ name, figure, unit, most, must, aim, verdict }) => {
    const shown = figure === null ? '-' : `${digits(figure)}${unit && ` ${unit}`}`;
    const sign = most ? '≤' : '≥';
    return [name, shown, `${sign} ${must}`, aim === undefined ? '' : `${sign} ${aim}`, verdict];
  });
  return [['line', 'figure', 'must', 'aim', ''], ...rows];
}

/** For a terminal. */
export function table(lines) {
  const all = cells(lines);
  const widths = [0, 1, 2, 3].map((i) => Math.max(...all.map((row) => row[i].length)));
  return all
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** For README. */
export function markdown(lines) {
  const [head, ...rows] = cells(lines).map((row) => `| ${row.join(' | ')} |`);
  return [head, '| --- | --- | --- | --- | --- |', ...rows].join('\n');
}
