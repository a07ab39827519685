// The expressions of Jinja2's grammar, and the tokens they are read from. Each node has a type and the line it stands in; what
// there is of types shows in interpreter.js, which has one function for each.
import { FILTERS } from './filters.js';
import { TESTS } from './tests.js';
import { fail } from './values.js';

/** @typedef {import('./lexer.js').Token} Token */
/** @typedef {any} Node */
/** @typedef {{ args: Node[], named: [string, Node][], star: Node | null, stars: Node | null }} Call */

/** @type {Record<string, unknown>} */
export const CONSTANTS = { true: true, True: true, false: false, False: false, none: null, None: null };
const COMPARISONS = ['==', '!=', '<', '<=', '>', '>='];
/** Names that a macro's body gets when it uses them. */
const IMPLICIT = ['caller', 'kwargs', 'varargs'];

export class Expressions {
  tokens;
  at = 0;
  /** Whether what is read may never be run: only then are unknown filters and tests no fault yet. */
  soft = false;
  /** @type {Set<string>[]} the IMPLICIT names that each open macro uses */
  used = [];

  /** @param {Token[]} tokens */
  constructor(tokens) {
    this.tokens = tokens;
  }

  /** @returns {Token} */
  get now() {
    return this.tokens[this.at] ?? { type: 'eof', value: 'the end', line: this.tokens.at(-1)?.line ?? 1 };
  }

  /**
   * @param {string} message
   * @returns {never}
   */
  fail(message) {
    return fail(message, 'syntax', this.now.line);
  }

  /** @returns {never} */
  unexpected(/** @type {string} */ wanted) {
    if (this.now.type === 'eof') this.fail(`it ends within a block or a tag (${wanted} is wanted)`);
    return this.fail(`${wanted} is wanted, not ${JSON.stringify(String(this.now.value))}`);
  }

  next() {
    const token = this.now;
    this.at++;
    return token;
  }

  /**
   * @param {string} type
   * @param {string} [value]
   */
  is(type, value) {
    return this.now.type === type && (value === undefined || this.now.value === value);
  }

  /** @param {string} name */
  isName(name) {
    return this.is('name', name);
  }

  /** @param {string} operator */
  isOperator(operator) {
    return this.is('operator', operator);
  }

  /**
   * @param {string} type
   * @param {string} [value]
   */
  skip(type, value) {
    if (!this.is(type, value)) return false;
    this.at++;
    return true;
  }

  /**
   * @param {string} type
   * @param {string} [value]
   */
  expect(type, value) {
    if (!this.is(type, value)) this.unexpected(value === undefined ? `a ${type}` : `'${value}'`);
    return this.next();
  }

  /**
   * Expressions with commas between them, up to the end of a tag.
   * @param {string} end
   */
  list(end) {
    const items = [this.expression()];
    while (!this.is(end)) {
      this.expect('operator', ',');
      items.push(this.expression());
    }
    return items;
  }

  /**
   * One expression, or several with commas as a tuple.
   * @param {{ conditional?: boolean, end?: string, brackets?: boolean }} [how] conditional: whether 'a if b' is read; end: a name
   * that ends it; brackets: whether it stands in brackets and may be empty
   * @returns {Node}
   */
  tuple({ conditional = true, end, brackets = false } = {}) {
    const { line } = this.now;
    /** @type {Node[]} */
    const items = [];
    let many = false;
    const ended = () => this.is('end') || this.isOperator(')') || (end !== undefined && this.isName(end));
    while (!ended()) {
      items.push(conditional ? this.expression() : this.or());
      if (!this.skip('operator', ',')) break;
      many = true;
    }
    if (!many && items.length) return items[0];
    if (!many && !brackets) this.unexpected('an expression');
    return { type: 'tuple', line, items };
  }

  /** @returns {Node} */
  expression() {
    let node = this.or();
    while (this.isName('if')) {
      const { line } = this.next();
      const test = this.or();
      node = {
        type: 'conditional',
        line,
        test,
        value: node,
        orElse: this.skip('name', 'else') ? this.expression() : null,
      };
    }
    return node;
  }

  /**
   * Left-associative operators of one rank.
   * @param {(operator: string) => boolean} known
   * @param {string} type
   * @param {() => Node} operand
   */
  #binary(known, type, operand) {
    let left = operand();
    while (this.is('operator') && known(this.now.value)) {
      const { line, value: operator } = this.next();
      left = { type, line, operator, left, right: operand() };
    }
    return left;
  }

  /** @returns {Node} */
  or() {
    let left = this.#and();
    while (this.isName('or')) left = { type: 'or', line: this.next().line, left, right: this.#and() };
    return left;
  }

  #and() {
    let left = this.#not();
    while (this.isName('and')) left = { type: 'and', line: this.next().line, left, right: this.#not() };
    return left;
  }

  /** @returns {Node} */
  #not() {
    if (this.isName('not')) return { type: 'not', line: this.next().line, value: this.#not() };
    const { line } = this.now;
    const first = this.#sum();
    /** @type {[string, Node][]} */
    const rest = [];
    for (;;) {
      const operator = this.#comparison();
      if (!operator) break;
      rest.push([operator, this.#sum()]);
    }
    return rest.length ? { type: 'compare', line, first, rest } : first;
  }

  #comparison() {
    if (this.is('operator') && COMPARISONS.includes(this.now.value)) return this.next().value;
    if (this.skip('name', 'in')) return 'in';
    const following = this.tokens[this.at + 1];
    if (!this.isName('not') || following?.type !== 'name' || following.value !== 'in') return null;
    this.at += 2;
    return 'not in';
  }

  #sum() {
    return this.#binary(
      (operator) => operator === '+' || operator === '-',
      'calculate',
      () => this.#joined(),
    );
  }

  #joined() {
    const { line } = this.now;
    const items = [this.#product()];
    while (this.skip('operator', '~')) items.push(this.#product());
    return items.length === 1 ? items[0] : { type: 'join', line, items };
  }

  #product() {
    return this.#binary(
      (operator) => ['*', '/', '//', '%'].includes(operator),
      'calculate',
      () => this.#power(),
    );
  }

  #power() {
    return this.#binary(
      (operator) => operator === '**',
      'calculate',
      () => this.#unary(),
    );
  }

  /** @returns {Node} */
  #unary(filtered = true) {
    const { line, value: sign } = this.now;
    let node;
    if (this.isOperator('-') || this.isOperator('+')) {
      this.next();
      node = { type: 'signed', line, sign, value: this.#unary(false) };
    } else node = this.#primary();
    node = this.#postfix(node);
    return filtered ? this.filters(node) : node;
  }

  /** @returns {Node} */
  #primary() {
    const { type, value, line } = this.next();
    if (type === 'name') {
      if (Object.hasOwn(CONSTANTS, value)) return { type: 'constant', line, value: CONSTANTS[value] };
      if (IMPLICIT.includes(value)) for (const uses of this.used) uses.add(value);
      return { type: 'name', line, name: value };
    }
    if (type === 'string') {
      let text = value;
      while (this.is('string')) text += this.next().value;
      return { type: 'constant', line, value: text };
    }
    if (type === 'integer' || type === 'float') return { type: 'constant', line, value };
    if (type === 'operator' && value === '(') {
      const inner = this.tuple({ brackets: true });
      this.expect('operator', ')');
      return inner;
    }
    if (type === 'operator' && value === '[')
      return { type: 'list', line, items: this.#items(']', () => this.expression()) };
    if (type === 'operator' && value === '{')
      return { type: 'dict', line, items: this.#items('}', () => this.#pair()) };
    this.at--;
    return this.unexpected('an expression');
  }

  /**
   * @template T
   * @param {string} end
   * @param {() => T} read
   */
  #items(end, read) {
    /** @type {T[]} */
    const items = [];
    while (!this.isOperator(end)) {
      if (items.length) this.expect('operator', ',');
      if (this.isOperator(end)) break;
      items.push(read());
    }
    this.next();
    return items;
  }

  /** @returns {[Node, Node]} */
  #pair() {
    const key = this.expression();
    this.expect('operator', ':');
    return [key, this.expression()];
  }

  /** @param {Node} node */
  #postfix(node) {
    for (let before = null; before !== node;) {
      before = node;
      if (this.isOperator('.') || this.isOperator('[')) node = this.#subscript(node);
      else if (this.isOperator('(')) node = this.#call(node);
    }
    return node;
  }

  /** @param {Node} value */
  #call(value) {
    return { type: 'call', line: this.now.line, value, call: this.#arguments() };
  }

  /** @param {Node} value */
  #subscript(value) {
    const { line, value: operator } = this.next();
    if (operator === '.') {
      const { value: name } = this.now;
      if (this.skip('name')) return { type: 'attribute', line, value, name };
      return { type: 'item', line, value, key: { type: 'constant', line, value: this.expect('integer').value } };
    }
    const keys = this.#items(']', () => this.#key());
    if (keys.length === 0) this.fail('an expression is wanted in []');
    if (keys.length > 1) return { type: 'item', line, value, key: { type: 'tuple', line, items: keys } };
    const [key] = keys;
    return key.type === 'slice'
      ? { type: 'slice', line, value, bounds: key.bounds }
      : { type: 'item', line, value, key };
  }

  #key() {
    const { line } = this.now;
    /** @type {(Node | null)[]} */
    const bounds = [this.isOperator(':') ? null : this.expression()];
    if (!this.isOperator(':')) return bounds[0];
    while (bounds.length < 3 && this.skip('operator', ':')) {
      const none = this.isOperator(':') || this.isOperator(']') || this.isOperator(',');
      bounds.push(none ? null : this.expression());
    }
    return { type: 'slice', line, bounds: [...bounds, null].slice(0, 3) };
  }

  /** @returns {Call} */
  #arguments() {
    /** @type {Call} */
    const call = { args: [], named: [], star: null, stars: null };
    this.expect('operator', '(');
    this.#items(')', () => {
      const following = this.tokens[this.at + 1];
      if (this.skip('operator', '**')) call.stars = this.expression();
      else if (this.skip('operator', '*')) call.star = this.expression();
      else if (this.is('name') && following?.type === 'operator' && following.value === '=') {
        const name = this.next().value;
        this.next();
        call.named.push([name, this.expression()]);
      } else {
        if (call.named.length || call.stars || call.star) this.fail('an argument by position behind one by name');
        call.args.push(this.expression());
      }
    });
    return call;
  }

  /**
   * Filters, tests and calls behind a value.
   * @param {Node} node null: the value is a block's text
   * @param {boolean} [inline] whether the first filter has no '|'
   */
  filters(node, inline = false) {
    for (;;) {
      const { line } = this.now;
      if (inline || this.skip('operator', '|')) {
        const name = this.#dotted();
        if (!this.soft && !Object.hasOwn(FILTERS, name)) fail(`there is no filter: ${name}`, 'syntax', line);
        node = { type: 'filter', line, value: node, name, call: this.isOperator('(') ? this.#arguments() : null };
        inline = false;
      } else if (node && this.skip('name', 'is')) node = this.#test(node, line);
      else if (node && this.isOperator('(')) node = this.#call(node);
      else return node;
    }
  }

  #dotted() {
    let name = this.expect('name').value;
    while (this.skip('operator', '.')) name += `.${this.expect('name').value}`;
    return name;
  }

  /**
   * @param {Node} value
   * @param {number} line
   */
  #test(value, line) {
    const negated = this.skip('name', 'not');
    const name = this.#dotted();
    if (!this.soft && !Object.hasOwn(TESTS, name)) fail(`there is no test: ${name}`, 'syntax', line);
    let call = null;
    const { type, value: next } = this.now;
    const begins =
      ['name', 'string', 'integer', 'float'].includes(type) || (type === 'operator' && /^[[{]$/u.test(next));
    if (this.isOperator('(')) call = this.#arguments();
    else if (begins && !(type === 'name' && ['else', 'or', 'and'].includes(next))) {
      if (this.isName('is')) this.fail("tests cannot be chained with 'is'");
      call = { args: [this.#postfix(this.#primary())], named: [], star: null, stars: null };
    }
    const node = { type: 'test', line, value, name, call };
    return negated ? { type: 'not', line, value: node } : node;
  }
}
