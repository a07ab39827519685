// The statements of Jinja2's grammar: tokens to a tree.
import { CONSTANTS, Expressions } from './expressions.js';

/** @typedef {import('./expressions.js').Node} Node */

const TAGS = [
  ...['autoescape', 'block', 'break', 'call', 'continue', 'filter', 'for', 'generation', 'if', 'macro', 'print', 'set'],
  'with',
];
/** Tags that need other files: Transformers gives templates none. */
const OTHER_FILES = ['extends', 'from', 'import', 'include'];

export class Parser extends Expressions {
  /** End tags of the blocks that are open, for messages. */
  #open = /** @type {string[]} */ ([]);
  #loops = 0;
  /** @type {Set<string>} */
  #blocks = new Set();

  parse() {
    const body = this.#body([]);
    if (!this.is('eof')) this.unexpected('the end');
    return body;
  }

  /**
   * Statements up to a tag of one of these names, which is next then.
   * @param {string[]} ends none: up to the end of the template
   * @returns {Node[]}
   */
  #body(ends) {
    /** @type {Node[]} */
    const body = [];
    if (ends.length) this.#open.push(ends.join(' or '));
    for (;;) {
      const { type, value, line } = this.now;
      if (type === 'eof') {
        if (ends.length) this.fail(`it ends within a block: ${this.#open.pop()} is missing`);
        return body;
      }
      this.next();
      if (type === 'data') body.push({ type: 'data', line, text: value });
      else if (value === '{{') {
        body.push({ type: 'print', line, value: this.tuple() });
        this.expect('end');
      } else if (ends.length && this.is('name') && ends.includes(this.now.value)) {
        this.#open.pop();
        return body;
      } else body.push(...this.#statement(line));
    }
  }

  /**
   * A body and its end tag.
   * @param {string} end
   */
  #block(end) {
    this.expect('end');
    const body = this.#body([end]);
    this.next();
    return body;
  }

  /**
   * A body that is a function or a loop of its own: run, whatever stands around it.
   * @template T
   * @param {number} loops
   * @param {() => T} read
   * @returns {T}
   */
  #within(loops, read) {
    const before = [this.#loops, this.soft];
    this.#loops = loops;
    this.soft = false;
    const result = read();
    [this.#loops, this.soft] = /** @type {[number, boolean]} */ (before);
    return result;
  }

  /**
   * @param {number} line
   * @returns {Node[]}
   */
  #statement(line) {
    const tag = this.expect('name').value;
    if (OTHER_FILES.includes(tag)) {
      while (!this.is('end') && !this.is('eof')) this.next();
      this.expect('end');
      return [{ type: 'unsupported', line, what: `the tag ${tag}` }];
    }
    if (!TAGS.includes(tag)) {
      const hint = this.#open.length ? `, ${this.#open.at(-1)} is to come first` : '';
      this.at--;
      return this.fail(`unknown tag '${tag}'${hint}`);
    }
    const nodes = [this.#statementBy(tag, line)].flat();
    this.expect('end');
    return nodes;
  }

  /**
   * @param {string} tag
   * @param {number} line
   * @returns {Node}
   */
  #statementBy(tag, line) {
    switch (tag) {
      case 'if':
        return this.#if(line);
      case 'for':
        return this.#for(line);
      case 'set':
        return this.#set(line);
      case 'macro':
        return this.#macro(line);
      case 'call':
        return this.#callBlock(line);
      case 'with':
        return this.#with(line);
      case 'block':
        return this.#namedBlock(line);
      case 'print':
        return this.list('end').map((value) => ({ type: 'print', line, value }));
      case 'filter':
        return { type: 'filterBlock', line, filter: this.filters(null, true), body: this.#block('endfilter') };
      case 'autoescape':
        return { type: 'autoescape', line, on: this.expression(), body: this.#block('endautoescape') };
      case 'generation':
        return this.#within(0, () => ({ type: 'scope', line, body: this.#block('endgeneration') }));
      default:
        if (this.#loops === 0) this.fail(`'${tag}' outside of a loop`);
        return { type: tag, line };
    }
  }

  /** @param {number} line */
  #if(line) {
    const node = {
      type: 'if',
      line,
      test: this.tuple({ conditional: false }),
      body: /** @type {Node[]} */ ([]),
      orElse: /** @type {Node[]} */ ([]),
    };
    const soft = this.soft;
    this.soft = true;
    this.expect('end');
    node.body = this.#body(['elif', 'else', 'endif']);
    const { value: tag, line: at } = this.next();
    if (tag === 'elif') node.orElse = [this.#if(at)];
    else if (tag === 'else') node.orElse = this.#block('endif');
    this.soft = soft;
    return node;
  }

  /** @param {number} line */
  #for(line) {
    const target = this.#target('in');
    if (namesOf(target).includes('loop')) this.fail("a loop's item cannot have the name 'loop'");
    this.expect('name', 'in');
    const items = this.tuple({ conditional: false, end: 'recursive' });
    const test = this.skip('name', 'if') ? this.expression() : null;
    const recursive = this.skip('name', 'recursive');
    this.expect('end');
    const body = this.#within(this.#loops + 1, () => this.#body(['endfor', 'else']));
    const orElse = this.next().value === 'else' ? this.#block('endfor') : [];
    return { type: 'for', line, target, items, test, recursive, body, orElse };
  }

  /** @param {number} line */
  #set(line) {
    const target = this.#target('=', true);
    if (this.skip('operator', '=')) return { type: 'set', line, target, value: this.tuple() };
    const filter = this.isOperator('|') ? this.filters(null) : null;
    return { type: 'setBlock', line, target, filter, body: this.#block('endset') };
  }

  /** @param {number} line */
  #macro(line) {
    const name = this.expect('name').value;
    return { type: 'macro', line, name, ...this.#function('endmacro') };
  }

  /**
   * Parameters and body of a macro.
   * @param {string} end
   * @param {() => Node} [between] what stands between the parameters and the body
   */
  #function(end, between) {
    const uses = new Set();
    const { names, defaults } = this.#signature(end === 'endmacro');
    const call = between?.();
    this.used.push(uses);
    const body = this.#within(0, () => this.#block(end));
    this.used.pop();
    return { names, defaults, body, uses, call };
  }

  /** @param {boolean} must whether the brackets must be there */
  #signature(must) {
    /** @type {string[]} */
    const names = [];
    /** @type {Node[]} defaults of the last names */
    const defaults = [];
    if (!must && !this.isOperator('(')) return { names, defaults };
    this.expect('operator', '(');
    while (!this.isOperator(')')) {
      if (names.length) this.expect('operator', ',');
      names.push(this.expect('name').value);
      if (this.skip('operator', '=')) defaults.push(this.expression());
      else if (defaults.length) this.fail('a parameter without a default behind one that has one');
    }
    this.next();
    return { names, defaults };
  }

  /** @param {number} line */
  #callBlock(line) {
    const caller = this.#function('endcall', () => this.expression());
    if (caller.call.type !== 'call') this.fail('a call is wanted');
    return { type: 'callBlock', line, call: caller.call, macro: { name: 'caller', ...caller } };
  }

  /** @param {number} line */
  #with(line) {
    /** @type {[Node, Node][]} */
    const pairs = [];
    while (!this.is('end')) {
      if (pairs.length) this.expect('operator', ',');
      const target = this.#target('=');
      this.expect('operator', '=');
      pairs.push([target, this.expression()]);
    }
    return { type: 'with', line, pairs, body: this.#block('endwith') };
  }

  /** @param {number} line */
  #namedBlock(line) {
    const name = this.expect('name').value;
    if (this.#blocks.has(name)) this.fail(`block '${name}' is there twice`);
    this.#blocks.add(name);
    const scoped = this.skip('name', 'scoped');
    if (this.isName('required')) return { type: 'unsupported', line, what: `the block '${name}' that is required` };
    const body = this.#within(0, () => this.#block('endblock'));
    this.skip('name', name);
    return { type: 'block', line, scoped, body };
  }

  /**
   * What a value is bound to: a name, several, or (attributes) an attribute of a namespace.
   * @param {string} end what comes behind
   * @param {boolean} [attributes]
   * @returns {Node}
   */
  #target(end, attributes = false) {
    const { line } = this.now;
    /** @type {Node[]} */
    const items = [];
    let many = false;
    do {
      if (items.length && (this.isName(end) || this.isOperator(end) || this.isOperator(')'))) break;
      items.push(this.#oneTarget(attributes));
      many ||= this.isOperator(',');
    } while (this.skip('operator', ','));
    return many ? { type: 'targets', line, items } : items[0];
  }

  /** @param {boolean} attributes */
  #oneTarget(attributes) {
    const { line } = this.now;
    if (this.skip('operator', '(')) {
      const inner = this.#target(')', attributes);
      this.expect('operator', ')');
      return inner;
    }
    const name = this.expect('name').value;
    if (name in CONSTANTS) this.fail(`'${name}' cannot be assigned to`);
    if (!attributes || !this.skip('operator', '.')) return { type: 'target', line, name };
    return { type: 'attributeTarget', line, name, attribute: this.expect('name').value };
  }
}

/**
 * @param {Node} target
 * @returns {string[]}
 */
const namesOf = (target) => (target.items ? target.items.flatMap(namesOf) : [target.name]);
