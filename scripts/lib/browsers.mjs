// The browsers that tests and benchmarks drive: where each is, and how Chromium is started.
import { which } from './run.mjs';

/** Each is the path of a program, or null where there is none. */
export const findChromium = () =>
  process.env.QW_CHROMIUM || which('chromium') || which('chromium-browser') || which('google-chrome');
export const findFirefox = () => process.env.QW_FIREFOX || which('firefox-esr') || which('firefox');
export const findWebKitDriver = () => process.env.QW_WEBKIT_DRIVER || which('WebKitWebDriver');

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

/**
 * The options of playwright's launch(); more: further arguments.
 * @param {...string} more
 */
export function chromiumOptions(...more) {
  const executablePath = findChromium();
  if (!executablePath)
    throw new Error('Chromium is not here: npm run setup installs it, QW_CHROMIUM names another one');
  return { executablePath, args: [...CHROMIUM_ARGS, ...more] };
}
