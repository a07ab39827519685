// The package's own types agree with the public contract: each module can stand where api.d.ts is expected. Only compiled.
import * as browser from '../../dist/index.js';
import * as node from '../../dist/node.js';

type Contract = typeof import('./api.js');

export const checks: Contract[] = [browser, node];
