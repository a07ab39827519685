// The transcript over a reload: in sessionStorage, which ends with the tab. Where that is missing or full, nothing is kept.

const PREFIX = 'qwen-chat:';
/** Longer conversations keep their end. */
const LONGEST = 500000;

/** @param {string} key */
export function keptTurns(key) {
  try {
    const turns = JSON.parse(globalThis.sessionStorage.getItem(PREFIX + key) ?? '[]');
    return Array.isArray(turns) ? turns.filter(isTurn) : [];
  } catch {
    return [];
  }
}

const DRAFT = 'draft:';

/** What had been written and not sent. @param {string} key */
export function keptDraft(key) {
  try {
    return globalThis.sessionStorage.getItem(PREFIX + DRAFT + key) ?? '';
  } catch {
    return '';
  }
}

/**
 * @param {string} key
 * @param {string} text
 */
export function keepDraft(key, text) {
  try {
    if (text) globalThis.sessionStorage.setItem(PREFIX + DRAFT + key, text);
    else globalThis.sessionStorage.removeItem(PREFIX + DRAFT + key);
  } catch {
    // Kept for comfort only.
  }
}

/** @param {any} turn @returns {turn is import('./session.js').Turn} */
const isTurn = (turn) => (turn?.role === 'user' || turn?.role === 'assistant') && typeof turn.content === 'string';

/**
 * @param {string} key
 * @param {import('./session.js').Turn[]} turns
 */
export function keepTurns(key, turns) {
  try {
    if (!turns.length) return globalThis.sessionStorage.removeItem(PREFIX + key);
    let from = 0;
    let length = turns.reduce((sum, turn) => sum + turn.content.length, 0);
    while (length > LONGEST && from < turns.length) length -= turns[from++].content.length;
    const kept = turns.slice(from).map(({ role, content, finish }) => ({ role, content, finish }));
    globalThis.sessionStorage.setItem(PREFIX + key, JSON.stringify(kept));
  } catch {
    // Kept for comfort only.
  }
}
