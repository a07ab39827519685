// A Hugging Face repository as a source: the folder that its files are fetched from. Nothing else of the Hub is asked.
import { qwenError } from '../errors.js';

export const HUB = 'https://huggingface.co';

/**
 * The URL of the repository's file, or of its folder (a checkpoint) where none is named.
 * @param {{ repo: string, file?: string, revision?: string, endpoint?: string }} source
 */
export function hubUrl({ repo, file = '', revision = 'main', endpoint = HUB }) {
  if (!/^[\w.-]+\/[\w.-]+$/.test(repo)) throw qwenError('usage', `repo is ${JSON.stringify(repo)}, not "owner/name"`);
  const path = file.split('/').map(encodeURIComponent).join('/');
  return `${endpoint.replace(/\/+$/, '')}/${repo}/resolve/${encodeURIComponent(revision)}/${path}`;
}
