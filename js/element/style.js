// The looks, as one sheet that all elements of a page share (adoptedStyleSheets: no inline style for a strict policy to refuse).
// Custom properties whose names begin with --qwen-chat- are for pages; parts are named as the classes.

const CSS = `
:host {
  display: block;
  box-sizing: border-box;
  block-size: var(--qwen-chat-height, min(40em, 85vh));
  min-block-size: 16em;
  inline-size: 100%;
  contain: layout style;
}
/*
 * Nothing is inherited from the page but direction: not its fonts, nor the size of its root element (medium is the reader's own).
 * The names stand here and not on the host, where a page's own --accent would make --qwen-chat-accent: var(--accent) a circle.
 */
.chat {
  --paper: var(--qwen-chat-background, #ffffff);
  --ink: var(--qwen-chat-color, #1c2321);
  --quiet: var(--qwen-chat-quiet, #5b6561);
  --line: var(--qwen-chat-line, #d9deda);
  --card: var(--qwen-chat-card, #f2f4f1);
  --bubble: var(--qwen-chat-bubble, #e4eeec);
  --accent: var(--qwen-chat-accent, #1f5f5b);
  --on-accent: var(--qwen-chat-on-accent, #ffffff);
  --bad: var(--qwen-chat-bad, #9b1c1c);
  --focus: var(--qwen-chat-focus, #1b6fd0);
  --code-word: #6b3fa0;
  --code-string: #2f6b2f;
  --code-number: #8a4b08;
  --radius: var(--qwen-chat-radius, 0.875em);
  --side: max(clamp(0.75em, 4%, 1.5em), (100% - var(--qwen-chat-measure, 37em)) / 2);
  all: initial;
  color-scheme: light dark;
  display: flex;
  flex-direction: column;
  box-sizing: border-box;
  block-size: 100%;
  overflow: hidden;
  background: var(--paper);
  color: var(--ink);
  border: 1px solid var(--line);
  border-radius: var(--radius);
  font: var(--qwen-chat-font, medium/1.55 system-ui, sans-serif);
  text-align: start;
}
@media (prefers-color-scheme: dark) {
  .chat {
    --paper: var(--qwen-chat-background, #151918);
    --ink: var(--qwen-chat-color, #e7ebe9);
    --quiet: var(--qwen-chat-quiet, #a3ada9);
    --line: var(--qwen-chat-line, #343c3a);
    --card: var(--qwen-chat-card, #1f2524);
    --bubble: var(--qwen-chat-bubble, #22403d);
    --accent: var(--qwen-chat-accent, #8fd0ca);
    --on-accent: var(--qwen-chat-on-accent, #0e201e);
    --bad: var(--qwen-chat-bad, #ffb1a6);
    --focus: var(--qwen-chat-focus, #7db7ff);
    --code-word: #c9a6f5;
    --code-string: #a5d6a0;
    --code-number: #f0b877;
  }
}
:host([hidden]), [hidden] { display: none !important; }
*, ::before, ::after { box-sizing: border-box; }
.visually-hidden {
  position: absolute; inline-size: 1px; block-size: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap;
}
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }

button {
  font: inherit; color: var(--ink); background: transparent; cursor: pointer;
  border: 1px solid var(--line); border-radius: 0.625em; padding: 0.375em 0.875em; min-block-size: 2.25em;
}
button:hover { background: var(--card); }
button[aria-disabled='true'] { opacity: 0.55; cursor: default; }
.send, .load-accept, .load-resume, .load-retry {
  color: var(--on-accent); background: var(--accent); border-color: transparent; font-weight: 600;
}
.send:hover, .load-accept:hover, .load-resume:hover, .load-retry:hover { background: var(--accent); filter: brightness(1.08); }
.send.stop { color: var(--ink); background: transparent; border-color: var(--ink); }

.scroller { position: relative; flex: 1; min-block-size: 0; display: flex; flex-direction: column; }
.scroll {
  flex: 1; min-block-size: 0; overflow-y: auto; overscroll-behavior: contain; padding: 1em var(--side);
  scrollbar-gutter: stable; overflow-anchor: none;
}
.turns { list-style: none; margin: 0; padding: 0; display: grid; gap: 1.125em; }
.turn { min-inline-size: 0; display: grid; justify-items: start; }
.turn.user { justify-items: end; }
.text { max-inline-size: 100%; min-inline-size: 0; overflow-wrap: anywhere; unicode-bidi: isolate; }
.user .text {
  white-space: pre-wrap; background: var(--bubble); border-radius: var(--radius); padding: 0.5em 0.875em; max-inline-size: 88%;
}
.assistant .text, .greeting .text { inline-size: 100%; }
.note { margin: 0.25em 0 0; color: var(--quiet); font-size: 0.875em; overflow-wrap: anywhere; }
.note.error { color: var(--bad); }
.note.busy { margin: 0; }
.turn-actions { display: flex; flex-wrap: wrap; gap: 0.125em; min-block-size: 2em; align-items: center; margin-inline-start: -0.5em; }
.action { border-color: transparent; color: var(--quiet); font-size: 0.8125em; padding: 0.125em 0.5em; min-block-size: 1.75em; }
.user .turn-actions { margin-inline: 0 -0.5em; }

.text > :first-child { margin-block-start: 0; }
.text > :last-child { margin-block-end: 0; }
.text p, .text ul, .text ol, .text blockquote, .text .code, .text table, .text hr { margin: 0 0 0.75em; }
.text ul, .text ol { padding-inline-start: 1.5em; }
.text li > p { margin: 0; }
.text .heading { font-weight: 650; margin-block-start: 1em; }
.text .heading[data-level='1'] { font-size: 1.25em; }
.text .heading[data-level='2'] { font-size: 1.125em; }
.text blockquote { border-inline-start: 3px solid var(--line); padding-inline-start: 0.875em; color: var(--quiet); margin-inline: 0; }
.text hr { border: 0; border-block-start: 1px solid var(--line); }
.text code { font: 0.9em/1.5 ui-monospace, 'Cascadia Mono', Menlo, Consolas, monospace; }
.text :not(pre) > code { background: var(--card); border-radius: 0.25em; padding: 0.1em 0.3em; }
.text .run-on { display: block; content-visibility: auto; }
.table { display: block; max-inline-size: 100%; overflow-x: auto; border-collapse: collapse; font-size: 0.9375em; }
.table th, .table td { border: 1px solid var(--line); padding: 0.25em 0.625em; text-align: start; vertical-align: top; }
.table th { background: var(--card); }
.code { border: 1px solid var(--line); border-radius: 0.625em; overflow: hidden; background: var(--card); }
.code-head { display: flex; justify-content: space-between; align-items: center; padding-inline-start: 0.75em; border-block-end: 1px solid var(--line); }
.code-language { color: var(--quiet); font-size: 0.8125em; }
.code-copy { border: 0; font-size: 0.8125em; color: var(--quiet); min-block-size: 2em; }
.code pre { margin: 0; padding: 0.75em; overflow-x: auto; direction: ltr; text-align: left; }
.code pre:focus-visible { outline-offset: -2px; }
.code-comment { color: var(--quiet); font-style: italic; }
.code-word { color: var(--code-word); }
.code-string { color: var(--code-string); }
.code-number { color: var(--code-number); }

.suggestions { display: flex; flex-wrap: wrap; gap: 0.5em; margin-block-start: 1em; }
.suggestion { text-align: start; }
.jump { position: absolute; inset-block-end: 0.5em; inset-inline-end: 50%; transform: translateX(50%); background: var(--paper); }

.load { display: grid; gap: 0.5em; padding: 0.875em var(--side); border-block-start: 1px solid var(--line); background: var(--card); }
.load p { margin: 0; overflow-wrap: anywhere; }
.load.error .load-text { color: var(--bad); }
.load-more { color: var(--quiet); font-size: 0.875em; font-variant-numeric: tabular-nums; }
.load-bar { inline-size: 100%; block-size: 0.625em; accent-color: var(--accent); }
.load-buttons { display: flex; flex-wrap: wrap; gap: 0.5em; }
.load-buttons:empty { display: none; }
.load.working .load-buttons { display: flex; min-block-size: 2.25em; }

.composer { padding: 0.75em var(--side); border-block-start: 1px solid var(--line); display: grid; gap: 0.5em; }
.composer-row { display: flex; gap: 0.5em; align-items: end; }
.editing { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: 0.25em 0.75em; font-size: 0.875em; color: var(--quiet); }
.input {
  flex: 1; min-inline-size: 0; font: inherit; color: inherit; background: var(--paper); resize: none; field-sizing: content;
  border: 1px solid var(--quiet); border-radius: 0.625em; padding: 0.375em 0.75em; min-block-size: 2.5em; max-block-size: 10em; overflow-y: auto;
}
.input::placeholder { color: var(--quiet); opacity: 1; }
.send { min-block-size: 2.5em; min-inline-size: 7em; }
.foot { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25em 0.875em; color: var(--quiet); font-size: 0.8125em; }
.foot .grow { flex: 1; }
/* Its line is there before it has text: nothing is to move when an answer ends. */
.status { flex: 1 0 100%; min-block-size: 1.55em; display: flex; flex-wrap: wrap; gap: 0 0.875em; }
.meter { display: inline-flex; align-items: center; gap: 0.375em; font-variant-numeric: tabular-nums; }
.meter meter { inline-size: 4em; block-size: 0.625em; }
.clear { font-size: 1em; min-block-size: 1.75em; padding: 0.125em 0.5em; border-color: transparent; color: var(--quiet); }

@media (prefers-reduced-motion: no-preference) {
  .note.busy { animation: breathe 1.6s ease-in-out infinite; }
  @keyframes breathe { 50% { opacity: 0.55; } }
}
@media (forced-colors: active) {
  .user .text, .code, .load, .chat { border: 1px solid CanvasText; }
  .send, .load-accept, .load-resume, .load-retry { border: 1px solid ButtonText; }
}
@media print { :host { block-size: auto; overflow: visible; } .composer, .load, .turn-actions { display: none; } }
`;

/** @type {CSSStyleSheet | null} */
let sheet = null;

/** @param {ShadowRoot} root */
export function adoptStyle(root) {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(CSS);
  }
  root.adoptedStyleSheets = [sheet];
}
