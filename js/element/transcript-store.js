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
