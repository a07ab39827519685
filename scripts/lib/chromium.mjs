// Debian's Chromium, as the browser tests and the benchmarks start it.

export const CHROMIUM = process.env.QW_CHROMIUM ?? '/usr/bin/chromium';

/** As root, without a GPU, and without asking for the browser's own services. */
export const CHROMIUM_ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
