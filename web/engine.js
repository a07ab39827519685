/**
 * The package as the built site has it, in dist/ beside this page. The only file that knows that place.
 */
// @ts-ignore: there is no dist/ in the folder of the sources
import * as built from './dist/index.js';
// @ts-ignore
import * as element from './dist/element-define.js';
// @ts-ignore
import * as table from './dist/settings.js';

/** @type {typeof import('../js/index.js')} */
export const { Engine, capabilities, modelCache, selfTest } = built;

/** @type {typeof import('../js/element.js')} */
export const { QwenChatElement } = element;

/** @type {typeof import('../js/settings.js')} */
export const { GROUPS, SETTINGS } = table;
