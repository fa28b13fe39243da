import { type Attributes, SpanKind } from '@opentelemetry/api';
import { childSpan, errorType, markFailed } from '../telemetry/telemetry.ts';
import type { Statement } from './pool/statement.ts';

/** Returns what the spans of a pool's statements say about its database. */
export function databaseAttributes(
  { database, host, port }: { database: string; host: string[]; port: number[] },
  schema: string,
): Attributes {
  return {
    'db.system.name': 'postgresql',
    'db.namespace': `${database}|${schema}`,
    'server.address': host[0] ?? '',
    'server.port': Number(port[0]),
  };
}

/** Longest text of a statement in a span. */
const maxTextLength = 1_000;

/** A statement as its span describes it. */
interface Description {
  /** The operation and, where it is plain, its table: "SELECT contacts". */
  name: string;
  attributes: Attributes;
}

/** By the template literal, of which there is one for each place in the code. */
const descriptions = new WeakMap<readonly string[], Description>();

/**
 * Gives a statement of a trace a client span; none where there is no trace, so that polls make none. `database` says where it goes.
 * Values are no part of it: they may be anybody's.
 */
export function traceStatement(statement: Statement, database: Attributes): void {
  const strings = statement.template;
  let description = descriptions.get(strings);
  const span = childSpan(
    () => {
      description ??= describeStatement(strings);
      descriptions.set(strings, description);
      return description.name;
    },
    () => ({ kind: SpanKind.CLIENT, attributes: { ...database, ...description!.attributes } }),
  );
  if (!span) return;
  statement.whenSettled((error) => {
    if (error !== undefined) {
      const type = errorType(error);
      if (/^[0-9A-Z]{5}$/.test(type)) span.setAttribute('db.response.status_code', type);
      markFailed(span, type);
    }
    span.end();
  });
}

/** The word before the table of each operation. */
const beforeTable = new Map([
  ['select', 'from'],
  ['insert', 'into'],
  ['update', 'update'],
  ['delete', 'from'],
  ['merge', 'into'],
]);
/** Words after which UPDATE is no operation: FOR UPDATE, FOR NO KEY UPDATE, DO UPDATE. */
const noOperationAfter = new Set(['for', 'key', 'do']);

/** Describes the statement of a template literal; its values are question marks. */
export function describeStatement(strings: readonly string[]): Description {
  const text = strings
    .join('?')
    .replace(/--[^\n]*/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  const words = wordsOf(text);
  const { operation, table } = operationOf(words);
  const attributes: Attributes = { 'db.query.text': text.slice(0, maxTextLength), 'db.operation.name': operation };
  if (table) attributes['db.collection.name'] = table;
  return { name: table ? `${operation} ${table}` : operation, attributes };
}

interface Word {
  text: string;
  /** Number of parentheses around it. */
  depth: number;
}

/** Returns the words of a statement, in lower case, without what is quoted. */
function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  let depth = 0;
  for (const [token] of text.matchAll(/[()]|'[^']*'|[^\s()',]+/g)) {
    if (token === '(') depth++;
    else if (token === ')') depth--;
    else if (!token.startsWith("'")) words.push({ text: token.toLowerCase(), depth });
  }
  return words;
}

/** Returns what a statement does, and to which table. A SELECT that shows what a statement before it has changed is that change. */
function operationOf(words: readonly Word[]): { operation: string; table: string | undefined } {
  const isOperation = (word: Word, index: number) =>
    beforeTable.has(word.text) && !noOperationAfter.has(words[index - 1]?.text ?? '');
  let begin = words.findIndex((word, index) => word.depth === 0 && isOperation(word, index));
  if (begin < 0) return { operation: words[0]?.text.toUpperCase() ?? 'SQL', table: undefined };
  if (words[0]!.text === 'with' && words[begin]!.text === 'select') {
    const change = words.findIndex((word, index) => isOperation(word, index) && word.text !== 'select');
    if (change >= 0) begin = change;
  }
  const { text: operation, depth } = words[begin]!;
  const place = words.findIndex(
    (word, index) => index >= begin && word.depth === depth && word.text === beforeTable.get(operation),
  );
  const next = words[place + 1];
  const isTable = place >= 0 && next?.depth === depth && /^[a-z_][\w.]*$/.test(next.text);
  return { operation: operation.toUpperCase(), table: isTable ? next.text : undefined };
}
