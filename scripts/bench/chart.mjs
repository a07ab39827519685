// Draws README's chart from the JSON of a bench run: tokens per second of compare.mjs' engines. Prints all lines as a table for
// README, too.
//   node scripts/bench/chart.mjs [BENCH.json] [OUT.svg]      default: build/bench/bench.json, scripts/bench/speed.svg
// An image in a README does not know whether the page around it is dark: all colours can be told from white and from black.
import { readFileSync, writeFileSync } from 'node:fs';
import { at, say, script } from '../lib/run.mjs';
import { markdown } from './lines.mjs';

const ENGINES = [
  { row: 'native', name: 'llama.cpp, native', colour: '#888888' },
  { row: 'ours', name: 'qwen2-wasm', colour: '#1a7fd4' },
  { row: 'ours-base', name: 'qwen2-wasm, base SIMD', colour: '#5ba3d9' },
  { row: 'wllama', name: 'wllama', colour: '#c9822b' },
];
const PANELS = [
  { title: 'Prompt of 256', key: 'prefill tok/s' },
  { title: 'Decoding', key: 'decode tok/s' },
];
const TEXT = '#7a7f87';
const [LEFT, BAR_WIDTH, BAR, GAP, PANEL_TOP, VALUE_WIDTH] = [160, 200, 18, 8, 28, 50];
const PANEL_WIDTH = BAR_WIDTH + VALUE_WIDTH + 10;
const HEIGHT = PANEL_TOP + ENGINES.length * (BAR + GAP) + 4;
const WIDTH = LEFT + PANELS.length * PANEL_WIDTH;

const escape = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const text = (x, y, words, more = '') => `<text x="${x}" y="${y}" ${more}>${escape(words)}</text>`;

/** Bars of one panel; the longest fills it. */
function panel({ title, key }, index, rows, engines) {
  const x = LEFT + index * PANEL_WIDTH;
  const most = Math.max(...engines.map(({ row }) => rows[row][key]));
  const parts = [text(x, 16, `${title}, tokens/s`, 'font-weight="600"')];
  for (const [i, { row, colour }] of engines.entries()) {
    const value = rows[row][key];
    const [y, width] = [PANEL_TOP + i * (BAR + GAP), Math.max(1, (value / most) * BAR_WIDTH)];
    parts.push(`<rect x="${x}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" rx="2" fill="${colour}"/>`);
    parts.push(text((x + width + 6).toFixed(1), y + 13, value >= 100 ? value.toFixed(0) : value.toFixed(1)));
  }
  return parts;
}

/**
 * @param {Record<string, Record<string, number>>} rows of compare.mjs
 * @param {string} about machine and date
 */
export function chart(rows, about) {
  const engines = ENGINES.filter(({ row }) => rows[row]);
  const names = engines.map(({ name }, i) =>
    text(LEFT - 8, PANEL_TOP + i * (BAR + GAP) + 13, name, 'text-anchor="end"'),
  );
  const words = engines.map(
    ({ row, name }) =>
      `${name}: ${PANELS.map(({ title, key }) => `${title.toLowerCase()} ${rows[row][key]}`).join(', ')}`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img"`,
    ` font-family="system-ui, sans-serif" font-size="12" fill="${TEXT}">`,
    `<title>Tokens per second. ${escape(`${words.join('; ')}. ${about}`)}</title>`,
    ...names,
    ...PANELS.flatMap((one, i) => panel(one, i, rows, engines)),
    '</svg>\n',
  ].join('\n');
}

await script(async ([json = at('build/bench/bench.json'), out = at('scripts/bench/speed.svg')]) => {
  const { compare, cpu, threads, date, lines = [] } = JSON.parse(readFileSync(json, 'utf8'));
  if (!compare) throw new Error(`${json} has no comparison: run npm run bench -- --model FILE`);
  writeFileSync(out, chart(compare.rows, `${cpu}, ${threads} threads, ${date.slice(0, 10)}`));
  say(`written to ${out}\n\n${markdown(lines)}`);
});
