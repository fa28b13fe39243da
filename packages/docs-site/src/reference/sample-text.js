/** Part of a sample that is already code. */
export class Code {
  constructor(text) {
    this.text = text;
  }
}

/** Syntax of values in TypeScript and JavaScript. */
export const typeScript = {
  indent: '  ',
  object: ['{ ', ' }'],
  name: (name) => (/^[a-z_]\w*$/i.test(name) ? name : typeScript.literal(name)),
  literal: (value) =>
    typeof value === 'string'
      ? `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
      : JSON.stringify(value),
};

/** Syntax of values in Python. */
export const python = {
  indent: '    ',
  object: ['{', '}'],
  name: (name) => python.literal(name),
  literal: (value) => ({ true: 'True', false: 'False', null: 'None' })[value] ?? JSON.stringify(value),
};

/** Returns the text of an example in a language. `indent` is the indent of its first line. */
export function textOf(value, language, indent = '') {
  if (value instanceof Code) return value.text;
  if (value === null || typeof value !== 'object') return language.literal(value);
  const text = (each) => textOf(each, language, indent + language.indent);
  if (Array.isArray(value)) return layOut('[', value.map(text), ']', language, indent);
  const [open, close] = language.object;
  const entries = Object.entries(value).map(([name, each]) => `${language.name(name)}: ${text(each)}`);
  return layOut(open, entries, close, language, indent);
}

/** Maximum characters of a line that can be broken: the width of the page's sample column. */
const lineLength = 60;

/** Returns parts on one line if they fit, else on one line each. */
export function layOut(open, parts, close, language, indent) {
  const line = `${open}${parts.join(', ')}${close}`;
  if (parts.length === 0 || (indent.length + line.length <= lineLength && !line.includes('\n'))) return line;
  const lines = parts.map((part) => `${indent}${language.indent}${part},\n`).join('');
  return `${open.trimEnd()}\n${lines}${indent}${close.trimStart()}`;
}
