// What this machine's own apt says: its mirror, and settings that hold for every use of that mirror.
import { capture, which } from '../lib/run.mjs';

/** The URI of the Debian archive that this machine uses, or null where it is no Debian. */
export function debianMirror() {
  if (!which('apt-get')) return null;
  const format = '$(REPO_URI) $(LABEL) $(COMPONENT)';
  const targets = capture('apt-get', ['indextargets', '--format', format, 'Created-By: Packages']).stdout;
  const line = targets.split('\n').find((text) => /^\S+ Debian main$/.test(text));
  return line ? line.split(' ')[0] : null;
}

/** The settings under Acquire (proxies and the like) as the text of an apt.conf. */
export function aptAcquireSettings() {
  return capture('apt-config', ['dump', '--format', '%f "%v";%n', 'Acquire']).stdout;
}

export const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
