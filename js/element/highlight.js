// Quiet colours for code: comments, strings, numbers and the words that most languages share. Not a grammar of any
// language: one pass over the text, by a pattern that never goes back.

/** A longer text stays as it is. */
const LONGEST = 50000;

const HASH_COMMENTS =
  /^(py|python|sh|bash|shell|zsh|rb|ruby|yaml|yml|toml|r|perl|make|makefile|dockerfile|julia|elixir)$/;
const DASH_COMMENTS = /^(sql|lua|haskell|hs|ada|elm)$/;
const NO_CODE = /^(text|txt|plain|plaintext|markdown|md|csv|log|output|console)$/;

const WORDS = new Set(
  (
    'abstract and as async await bool boolean break case catch char class const continue def default defer del delete do ' +
    'double elif else end enum except export extends extern false final finally float fn for from func function go goto if ' +
    'impl implements import in instanceof int interface is lambda let long loop match mod module mut namespace new nil ' +
    'none None not null of operator or package pass private protected pub public raise readonly ref return self short ' +
    'signed sizeof static str string struct super switch template then this throw throws trait true True False try type ' +
    'typedef typeof undefined union unless unsigned until use using val var virtual void volatile where while with yield ' +
    'SELECT FROM WHERE INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE JOIN ON GROUP ORDER BY AND OR NOT NULL select from'
  ).split(' '),
);

const STRINGS = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|` + '`(?:[^`\\\\]|\\\\.)*`';
const NUMBER = String.raw`\b\d[\w.]*`;
const WORD = String.raw`[A-Za-z_$][\w$]*`;

/** @param {string} language */
function patternOf(language) {
  const line = HASH_COMMENTS.test(language) ? '#' : DASH_COMMENTS.test(language) ? '--' : '//';
  return new RegExp(`(${line}[^\\n]*|/\\*[^]*?\\*/)|(${STRINGS})|(${NUMBER})|(${WORD})`, 'g');
}

/**
 * Replaces the text of a code element by the same text in spans.
 * @param {HTMLElement} code
 * @param {string} language as written behind the fence, or ''
 */
export function highlighted(code, language) {
  const text = code.textContent ?? '';
  const name = language.trim().toLowerCase();
  if (!text || text.length > LONGEST || NO_CODE.test(name) || code.childElementCount) return;
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(patternOf(name))) {
    const [whole, comment, string, number, word] = match;
    const kind = comment ? 'comment' : string ? 'string' : number ? 'number' : WORDS.has(word) ? 'word' : '';
    if (!kind) continue;
    const span = document.createElement('span');
    span.className = `code-${kind}`;
    span.textContent = whole;
    parts.push(text.slice(at, match.index), span);
    at = match.index + whole.length;
  }
  if (parts.length) code.replaceChildren(...parts, text.slice(at));
}
