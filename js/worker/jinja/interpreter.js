// Runs a template's tree: statements append to a list of texts, expressions give values.
import { strftime } from './dates.js';
import { filterOf } from './filters.js';
import { tokenize } from './lexer.js';
import { attribute, called, calculate, compared, item, signed, slice } from './operators.js';
import { Parser } from './parser.js';
import { testOf } from './tests.js';
import { textOf } from './text.js';
import {
  Callable,
  Dict,
  Fault,
  Namespace,
  REQUIRED,
  Range,
  Tuple,
  Undefined,
  bind,
  equal,
  fail,
  fromJs,
  isInt,
  iterate,
  str,
  truthy,
  unsupported,
} from './values.js';

/** @typedef {import('./values.js').Value} Value */
/** @typedef {import('./values.js').Named} Named */
/** @typedef {import('./expressions.js').Node} Node */
/** How a body ended: before its end in the two cases. @typedef {'break' | 'continue' | undefined} Ending */

/** Names and their values; what is not here is in the scope around it. */
class Scope {
  /** @type {Map<string, Value>} */
  #values = new Map();

  /** @param {Scope | null} outer */
  constructor(outer) {
    this.outer = outer;
  }

  /** @param {string} name @returns {Value} */
  get(name) {
    /** @type {Scope | null} */
    let scope = this;
    for (; scope; scope = scope.outer) if (scope.#values.has(name)) return scope.#values.get(name);
    return new Undefined(`'${name}' is undefined`);
  }

  /** @param {string} name @param {Value} value */
  set(name, value) {
    this.#values.set(name, value);
  }

  /** @returns {Scope} where blocks of a template begin */
  get top() {
    return this.outer?.outer ? this.outer.top : this;
  }
}

/** The items of a loop; one is looked at ahead only where the template asks for it. */
class Loop {
  #items;
  /** @type {Value[]} */
  #ahead = [];
  #length = /** @type {number | null} */ (null);
  #changing = /** @type {Value[] | null} */ (null);
  index0 = -1;
  previous = /** @type {Value} */ (new Undefined('there is no previous item'));
  current = /** @type {Value} */ (new Undefined('there is no previous item'));

  /** @param {Iterator<Value>} items @param {number} depth0 @param {(items: Value) => string} recurse */
  constructor(items, depth0, recurse) {
    this.#items = items;
    this.depth0 = depth0;
    this.value = new Callable('loop', ([inner]) => recurse(inner), this.#attributes());
  }

  next() {
    if (!this.#peek()) return false;
    this.index0++;
    this.previous = this.current;
    this.current = this.#ahead.shift();
    return true;
  }

  #peek() {
    if (this.#ahead.length) return true;
    const { done, value } = this.#items.next();
    if (!done) this.#ahead.push(value);
    return !done;
  }

  get length() {
    if (this.#length === null) {
      for (let next = this.#items.next(); !next.done; next = this.#items.next()) this.#ahead.push(next.value);
      this.#length = this.index0 + 1 + this.#ahead.length;
    }
    return this.#length;
  }

  /** @returns {Record<string, () => Value>} */
  #attributes() {
    return {
      index: () => BigInt(this.index0 + 1),
      index0: () => BigInt(this.index0),
      revindex: () => BigInt(this.length - this.index0),
      revindex0: () => BigInt(this.length - this.index0 - 1),
      first: () => this.index0 === 0,
      last: () => !this.#peek(),
      length: () => BigInt(this.length),
      depth: () => BigInt(this.depth0 + 1),
      depth0: () => BigInt(this.depth0),
      previtem: () => this.previous,
      nextitem: () => (this.#peek() ? this.#ahead[0] : new Undefined('there is no next item')),
      cycle: () =>
        new Callable('cycle', (args) =>
          args.length ? args[this.index0 % args.length] : fail('no items for cycling given'),
        ),
      changed: () =>
        new Callable('changed', (args) => {
          const same = this.#changing !== null && equal(this.#changing, args);
          this.#changing = args;
          return !same;
        }),
    };
  }
}

/** @param {(args: Value[], bound: Record<string, Value>) => Value} run @param {string} name @param {Record<string, Value>} wanted */
const fn = (name, wanted, run) => new Callable(name, (args, named) => run(args, bind(name, wanted, args, named)));

/** @param {Value[]} args */
function range(args) {
  if (args.some((one) => !isInt(one))) fail('range() wants whole numbers');
  const [a, b, step = 1n] = args.map(BigInt);
  if (step === 0n) fail('range() has a step of 0');
  return b === undefined ? new Range(0n, a, 1n) : new Range(a, b, step);
}

/** @param {Value[]} args @param {Named} named */
function dict(args, named) {
  if (args.length > 1) fail('dict() takes one value');
  const [from = new Dict()] = args;
  const pairs = from instanceof Dict ? from.items() : Array.from(iterate(from), (one) => [...iterate(one)]);
  if (pairs.some((pair) => pair.length !== 2)) fail('dict() wants pairs');
  return new Dict([.../** @type {[Value, Value][]} */ (pairs), ...named]);
}

/** @param {Value[]} items */
function cycler(items) {
  if (items.length === 0) fail('cycler() lacks its items');
  let at = 0;
  const step = () => {
    const value = items[at];
    at = (at + 1) % items.length;
    return value;
  };
  return new Callable('cycler', () => fail('a cycler is not a function'), {
    next: () => new Callable('next', step),
    reset: () => new Callable('reset', () => ((at = 0), null)),
    current: () => items[at],
  });
}

/** @param {Value} sep */
function joiner(sep) {
  let used = false;
  return new Callable('joiner', () => {
    const text = used ? sep : '';
    used = true;
    return text;
  });
}

/**
 * @param {() => Date} now
 * @returns {Record<string, Value>}
 */
const globals = (now) => ({
  range: fn('range', { start: REQUIRED, stop: 0n, step: 1n }, range),
  dict: new Callable('dict', dict),
  namespace: new Callable('namespace', (args, named) => new Namespace(dict(args, named))),
  cycler: new Callable('cycler', cycler),
  joiner: fn('joiner', { sep: ', ' }, (_, { sep }) => joiner(sep)),
  self: new Callable('self', () => unsupported('self')),
  lipsum: new Callable('lipsum', () => unsupported('lipsum()')),
  raise_exception: fn('raise_exception', { message: REQUIRED }, (_, { message }) => fail(str(message), 'raised')),
  strftime_now: fn('strftime_now', { format: REQUIRED }, (_, { format }) => strftime(now(), str(format))),
});

/** One rendering. */
class Interpreter {
  /** @param {Node[]} body @param {Scope} scope @param {string[]} out @returns {Ending} */
  run(body, scope, out) {
    for (const node of body) {
      const ending = this.#placed(node, () => STATEMENTS[node.type](this, node, scope, out));
      if (ending) return ending;
    }
    return undefined;
  }

  /** @param {Node[]} body @param {Scope} scope */
  text(body, scope) {
    /** @type {string[]} */
    const out = [];
    this.run(body, scope, out);
    return out.join('');
  }

  /** @param {Node} node @param {Scope} scope @returns {Value} */
  value(node, scope) {
    return this.#placed(node, () => EXPRESSIONS[node.type](this, node, scope));
  }

  /**
   * Says in which line a fault is.
   * @template T
   * @param {Node} node
   * @param {() => T} run
   */
  #placed(node, run) {
    try {
      return run();
    } catch (error) {
      const fault =
        error instanceof RangeError ? new Fault('runtime', `too deep or too large (${error.message})`) : error;
      if (fault instanceof Fault) fault.line ||= node.line;
      throw fault;
    }
  }

  /** @param {Node | null} call @param {Scope} scope @returns {[Value[], Named]} */
  args(call, scope) {
    if (!call) return [[], new Map()];
    const args = call.args.map((/** @type {Node} */ one) => this.value(one, scope));
    /** @type {Named} */
    const named = new Map(
      call.named.map((/** @type {[string, Node]} */ [name, one]) => [name, this.value(one, scope)]),
    );
    if (call.star) args.push(...iterate(this.value(call.star, scope)));
    const stars = call.stars ? this.value(call.stars, scope) : new Dict();
    if (!(stars instanceof Dict)) return fail('what stands behind ** is no dict');
    for (const [key, one] of stars.items()) {
      if (named.has(key)) fail(`the argument '${key}' is given twice`);
      named.set(key, one);
    }
    return [args, named];
  }

  /** @param {Node} target @param {Value} value @param {Scope} scope */
  assign(target, value, scope) {
    if (target.type === 'target') return scope.set(target.name, value);
    if (target.type === 'attributeTarget') {
      const space = scope.get(target.name);
      if (!(space instanceof Namespace)) return fail(`'${target.name}' is no namespace: its attributes cannot be set`);
      return space.values.set(target.attribute, value);
    }
    const values = [...iterate(value)];
    if (values.length !== target.items.length) fail(`${values.length} values for ${target.items.length} names`);
    target.items.forEach((/** @type {Node} */ one, /** @type {number} */ i) => this.assign(one, values[i], scope));
  }

  /** @param {Node} macro @param {Scope} scope */
  macro(macro, scope) {
    const { name, names, defaults, body, uses } = macro;
    const run = (/** @type {Value[]} */ args, /** @type {Named} */ named) => {
      const inner = new Scope(scope);
      const rest = new Map(named);
      names.forEach((/** @type {string} */ one, /** @type {number} */ i) => {
        const usual = defaults[i - names.length + defaults.length];
        const twice = i < args.length && rest.has(one);
        if (twice) fail(`${name}() got the argument '${one}' twice`);
        if (i < args.length) inner.set(one, args[i]);
        else if (rest.has(one)) inner.set(one, rest.get(one));
        else inner.set(one, usual ? this.value(usual, inner) : new Undefined(`parameter '${one}' was not provided`));
        rest.delete(one);
      });
      if (uses.has('caller') && !names.includes('caller')) {
        inner.set('caller', rest.get('caller') ?? new Undefined('no caller defined'));
        rest.delete('caller');
      }
      if (uses.has('kwargs')) inner.set('kwargs', new Dict(rest));
      else if (rest.size) fail(`${name}() takes no argument '${[...rest.keys()][0]}'`);
      if (uses.has('varargs')) inner.set('varargs', Tuple.from(args.slice(names.length)));
      else if (args.length > names.length) fail(`${name}() takes not more than ${names.length} arguments`);
      return this.text(body, inner);
    };
    return new Callable(name, run, { name, arguments: Tuple.from(names), caller: uses.has('caller') });
  }

  /** @param {Node} node @param {Scope} scope @param {Value} items @param {number} depth0 @param {string[]} out */
  loop(node, scope, items, depth0, out) {
    const recurse = (/** @type {Value} */ inner) => {
      if (!node.recursive) fail('loop() outside of a recursive loop');
      /** @type {string[]} */
      const text = [];
      this.loop(node, scope, inner, depth0 + 1, text);
      return text.join('');
    };
    const loop = new Loop(this.#wanted(node, scope, items), depth0, recurse);
    let complete = false; // whether a turn came to its end: without one Jinja2 takes the else part, break or not
    while (loop.next()) {
      const inner = new Scope(scope);
      inner.set('loop', loop.value);
      this.assign(node.target, loop.current, inner);
      const ending = this.run(node.body, inner, out);
      complete ||= !ending;
      if (ending === 'break') break;
    }
    if (!complete) this.run(node.orElse, new Scope(scope), out);
  }

  /** @param {Node} node @param {Scope} scope @param {Value} items */
  *#wanted(node, scope, items) {
    for (const one of iterate(items)) {
      const inner = new Scope(scope);
      if (node.test) {
        this.assign(node.target, one, inner);
      }
      if (!node.test || truthy(this.value(node.test, inner))) yield one;
    }
  }
}

/** @type {Record<string, (self: Interpreter, node: Node, scope: Scope, out: string[]) => Ending | void>} */
const STATEMENTS = {
  data: (_, node, __, out) => void out.push(node.text),
  print: (self, node, scope, out) => void out.push(str(self.value(node.value, scope))),
  if: (self, node, scope, out) => self.run(truthy(self.value(node.test, scope)) ? node.body : node.orElse, scope, out),
  for: (self, node, scope, out) => self.loop(node, scope, self.value(node.items, scope), 0, out),
  break: () => 'break',
  continue: () => 'continue',
  set: (self, node, scope) => self.assign(node.target, self.value(node.value, scope), scope),
  setBlock: (self, node, scope) => {
    const text = self.text(node.body, new Scope(scope));
    self.assign(node.target, node.filter ? self.value(withValue(node.filter, text), scope) : text, scope);
  },
  filterBlock: (self, node, scope, out) => {
    const text = self.text(node.body, new Scope(scope));
    out.push(textOf(self.value(withValue(node.filter, text), scope), 'what a filter block gives'));
  },
  macro: (self, node, scope) => scope.set(node.name, self.macro(node, scope)),
  callBlock: (self, { call, macro }, scope, out) => {
    const [args, named] = self.args(call.call, scope);
    named.set('caller', self.macro(macro, scope));
    out.push(textOf(called(self.value(call.value, scope), args, named), 'what a call block gives'));
  },
  with: (self, node, scope, out) => {
    const inner = new Scope(scope);
    for (const [target, value] of node.pairs) self.assign(target, self.value(value, scope), inner);
    return self.run(node.body, inner, out);
  },
  scope: (self, node, scope, out) => void self.run(node.body, new Scope(scope), out),
  block: (self, node, scope, out) => void self.run(node.body, new Scope(node.scoped ? scope : scope.top), out),
  autoescape: (self, node, scope, out) => {
    if (truthy(self.value(node.on, scope))) unsupported('autoescape');
    return self.run(node.body, new Scope(scope), out);
  },
  unsupported: (_, node) => unsupported(node.what),
};

/**
 * A chain of filters whose first has its value.
 * @param {Node} filter
 * @param {string} text
 * @returns {Node}
 */
function withValue(filter, text) {
  const value = filter.value ? withValue(filter.value, text) : { type: 'constant', line: filter.line, value: text };
  return { ...filter, value };
}

/** @type {Record<string, (self: Interpreter, node: Node, scope: Scope) => Value>} */
const EXPRESSIONS = {
  constant: (_, node) => node.value,
  name: (_, node, scope) => scope.get(node.name),
  list: (self, node, scope) => node.items.map((/** @type {Node} */ one) => self.value(one, scope)),
  tuple: (self, node, scope) => Tuple.from(node.items, (/** @type {Node} */ one) => self.value(one, scope)),
  dict: (self, node, scope) =>
    new Dict(node.items.map((/** @type {Node[]} */ pair) => pair.map((one) => self.value(one, scope)))),
  conditional: (self, node, scope) => {
    if (truthy(self.value(node.test, scope))) return self.value(node.value, scope);
    return node.orElse ? self.value(node.orElse, scope) : new Undefined('an inline if whose test is false has no else');
  },
  or: (self, node, scope) => {
    const left = self.value(node.left, scope);
    return truthy(left) ? left : self.value(node.right, scope);
  },
  and: (self, node, scope) => {
    const left = self.value(node.left, scope);
    return truthy(left) ? self.value(node.right, scope) : left;
  },
  not: (self, node, scope) => !truthy(self.value(node.value, scope)),
  compare: (self, node, scope) => {
    let left = self.value(node.first, scope);
    for (const [operator, operand] of node.rest) {
      const right = self.value(operand, scope);
      if (!compared(operator, left, right)) return false;
      left = right;
    }
    return true;
  },
  calculate: (self, node, scope) => {
    const left = self.value(node.left, scope);
    return calculate(node.operator, left, self.value(node.right, scope));
  },
  signed: (self, node, scope) => signed(node.sign, self.value(node.value, scope)),
  join: (self, node, scope) => node.items.map((/** @type {Node} */ one) => str(self.value(one, scope))).join(''),
  attribute: (self, node, scope) => attribute(self.value(node.value, scope), node.name),
  item: (self, node, scope) => item(self.value(node.value, scope), self.value(node.key, scope)),
  slice: (self, node, scope) => {
    const value = self.value(node.value, scope);
    const [start, stop, step] = node.bounds.map((/** @type {Node | null} */ one) =>
      one ? self.value(one, scope) : null,
    );
    return slice(value, start, stop, step);
  },
  call: (self, node, scope) => {
    const value = self.value(node.value, scope);
    return called(value, ...self.args(node.call, scope));
  },
  filter: (self, node, scope) => {
    const value = self.value(node.value, scope);
    return filterOf(node.name)(value, ...self.args(node.call, scope));
  },
  test: (self, node, scope) => {
    const value = self.value(node.value, scope);
    return truthy(testOf(node.name)(value, ...self.args(node.call, scope)));
  },
};

/**
 * @param {string} template
 * @returns {Node[]}
 */
export const compile = (template) => new Parser(tokenize(template)).parse();

/**
 * @param {Node[]} program
 * @param {Record<string, unknown>} variables as JSON has them
 * @param {() => Date} now what strftime_now() takes for the time
 */
export function render(program, variables, now) {
  const outer = new Scope(null);
  for (const [name, value] of Object.entries(globals(now))) outer.set(name, value);
  for (const [name, value] of Object.entries(variables)) outer.set(name, fromJs(value));
  return new Interpreter().text(program, new Scope(outer));
}
