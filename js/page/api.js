// The functions beside Engine, over a Host.
import { modelCacheOver } from '../weights/model-cache.js';
import { attempt } from './attempts.js';
import { Connection } from './connection.js';
import { begin } from './load-request.js';
import { capabilitiesOf, chooseBuild, requireEngine } from './env.js';
import { cancellable, qwenError } from '../errors.js';
import { ENGINE_WORKER } from '../protocol.js';

/** @param {import('../host.js').Host} host */
export function functionsFor(host) {
  return {
    /** @returns {Promise<import('../types.js').Capabilities>} */
    capabilities: () => capabilitiesOf(host),

    /** @type {import('../types.js').ModelCache} */
    modelCache: {
      ...modelCacheOver(host.store, host.persist),
      async fetch(source, options = {}) {
        const { signal, onProgress } = options;
        const listeners = { onProgress };
        const { connection, answer, notes } = await attempt(
          'fetch',
          await begin(host, source, options),
          listeners,
          signal,
        );
        connection.close(qwenError('closed', 'the download has ended'));
        return { ...answer, notes: [...notes, ...answer.notes] };
      },
    },

    /**
     * Kernels against their scalar twins and a known answer, here and now.
     * @param {{ threads?: number, signal?: AbortSignal }} [options]
     * @returns {Promise<{ ok: boolean, report: string }>}
     */
    async selfTest({ threads, signal } = {}) {
      requireEngine(host);
      const { wasm } = chooseBuild({ threads: threads ?? 'auto' }, host);
      const connection = new Connection(host, ENGINE_WORKER);
      try {
        return await cancellable(connection.request('selftest', { wasm }).done, signal);
      } finally {
        connection.close(qwenError('closed', 'the self-test has ended'));
      }
    },
  };
}
