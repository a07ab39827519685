// The package's declarations: tsc writes one for each file of js/ (build/types/); what is public of them is put together here, so
// that dist/ has one for each entry and no name of the inside is an API.
import { readFileSync, writeFileSync } from 'node:fs';
import ts from 'typescript';
import { at } from '../lib/run.mjs';

/** Members that the entries and the inside need, and callers not. */
const INSIDE = ['host', 'connectedCallback', 'disconnectedCallback', 'attributeChangedCallback'];

/** What TypeScript must know without the types of Node or of a newer language. */
const LIBS =
  '/// <reference lib="esnext.disposable" />\n/// <reference lib="dom" />\n/// <reference lib="dom.asynciterable" />\n';

const parsed = (file) => {
  const text = readFileSync(at('build/types', file), 'utf8');
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
};

/** The text of a node with its comment, its types by their bare names. */
const textOf = (node) => node.getFullText().replace(/import\("[^"]+"\)\.(\w+)/g, '$1');

/** A declared name of a file, with its comment. */
function declared(file, name) {
  const nameOf = (one) => (ts.isVariableStatement(one) ? one.declarationList.declarations[0] : one).name?.text;
  const found = parsed(file).statements.find((one) => nameOf(one) === name);
  if (!found) throw new Error(`build/types/${file} declares no ${name}`);
  return textOf(found).trimStart();
}

/** A class as callers see it. constructor: whether they may make one. */
function classOf(file, name, { constructor = true } = {}) {
  const found = parsed(file).statements.find((one) => ts.isClassDeclaration(one) && one.name?.text === name);
  if (!found || !ts.isClassDeclaration(found)) throw new Error(`build/types/${file} has no class ${name}`);
  const members = found.members.filter(
    (one) =>
      !(one.name && INSIDE.includes(one.name.getText())) &&
      (constructor || !ts.isConstructorDeclaration(one)) &&
      one.name?.getText() !== '#private',
  );
  const comment = found
    .getFullText()
    .slice(0, found.getStart() - found.getFullStart())
    .trim();
  const base = found.heritageClauses?.map((clause) => ` ${clause.getText()}`).join('') ?? '';
  const own = constructor ? '' : '\n    private constructor();';
  return `${comment}\nexport class ${name}${base} {${own}${members.map(textOf).join('')}\n}\n`.trimStart();
}

const note = (name) => `// ${name} of qwen2-wasm: made by scripts/build/types.mjs.\n`;

function indexTypes() {
  const functions = ['capabilities', 'modelCache', 'selfTest'].map((name) => declared('index.d.ts', name));
  return [
    note('The API') + LIBS,
    readFileSync(at('js/types.d.ts'), 'utf8'),
    declared('errors.d.ts', 'ErrorCode'),
    'type Settings = GenerationSettings & RunOptions;',
    '/** The one error class. `message` names the object, both values and the way out. */\n' +
      classOf('errors.d.ts', 'QwenError'),
    classOf('page/engine.d.ts', 'Engine', { constructor: false }),
    ...functions,
    'export {};\n',
  ].join('\n\n');
}

/** @param {Record<string, string>} words the element's own, in English */
function elementTypes(words) {
  const strings = Object.entries(words).map(([name, text]) => `    /** ${text} */\n    ${name}: string;\n`);
  const events = ['phase', 'progress', 'token', 'message', 'error'];
  const details = ['{ phase: Phase }', 'Progress', 'Chunk', 'ChatMessage', '{ error: Error }'];
  const map = events.map((name, i) => `    'qwen-${name}': CustomEvent<${details[i]}>;\n`);
  return [
    `${note('<qwen-chat>')}import type { Chunk, Engine, LoadOptions, Message, ModelSource, Progress, Result } from './index.js';`,
    declared('element/session.d.ts', 'Phase'),
    "/** Of the event qwen-message: finish is a FinishReason or 'error', result is there of an answer that came to an end. */\n" +
      "export interface ChatMessage {\n    role: 'user' | 'assistant';\n    content: string;\n    finish?: string;\n    result?: Result;\n}",
    `/** The element's words; {name} is filled in. */\nexport interface Strings {\n${strings.join('')}}`,
    classOf('element/qwen-chat.d.ts', 'QwenChatElement'),
    `export interface QwenChatEventMap {\n${map.join('')}}`,
    "declare global {\n    interface HTMLElementTagNameMap {\n        'qwen-chat': QwenChatElement;\n    }\n    interface HTMLElementEventMap extends QwenChatEventMap {}\n}\n",
    'export {};\n',
  ].join('\n\n');
}

function openaiTypes() {
  const functions = ['engineFetch', 'handle'].map((name) => declared('openai/handle.d.ts', name));
  return [
    `${note("OpenAI's interface over an engine")}import type { Engine } from './index.js';`,
    ...functions,
    '',
  ].join('\n\n');
}

/** Writes dist/*.d.ts from build/types/. */
export async function bundleTypes() {
  const { ENGLISH } = await import('../../js/element/strings.js');
  const files = {
    'index.d.ts': indexTypes(),
    'node.d.ts': `${note('The API in Node')}export * from './index.js';\n`,
    'element.d.ts': elementTypes(ENGLISH),
    'element-define.d.ts': `${note('<qwen-chat>, registered')}export * from './element.js';\n`,
    'openai.d.ts': openaiTypes(),
    'settings.d.ts': readFileSync(at('build/types/settings.d.ts'), 'utf8'),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(at('dist', name), text);
}
