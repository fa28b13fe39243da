import { type Attributes, SpanKind } from '@opentelemetry/api';
import type { RunningStatement } from './statement-watch.ts';
import { childSpan, errorType, markFailed } from './telemetry.ts';

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
export function traceStatement(statement: RunningStatement, database: Attributes): void {
  const strings = statement.strings ?? [];
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
  const { resolve, reject } = statement;
  statement.resolve = (value) => {
    span.end();
    resolve.call(statement, value);
  };
  statement.reject = (error) => {
    const type = errorType(error);
    if (/^[0-9A-Z]{5}$/.test(type)) span.setAttribute('db.response.status_code', type);
    markFailed(span, type);
    span.end();
    reject.call(statement, error);
  };
}

const operations = new Set(['select', 'insert', 'update', 'delete', 'merge']);
/** The word before the table of an operation. */
const before: Readonly<Record<string, string>> = { select: 'from', insert: 'into', update: 'update', delete: 'from' };

/** Describes the statement of a template literal; its values are question marks. */
export function describeStatement(strings: readonly string[]): Description {
  const text = strings
    .join('?')
    .replace(/--[^\n]*/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  const words = outerWords(text);
  // What follows WITH is in parentheses: the first of these words is the statement's own.
  const begin = words.findIndex((word) => operations.has(word.toLowerCase()));
  const operation = words[Math.max(0, begin)]?.toLowerCase() ?? '';
  const place = words.findIndex((word, index) => index >= begin && word.toLowerCase() === before[operation]);
  const table = begin >= 0 && place >= 0 ? /^[a-z_][\w.]*$/i.exec(words[place + 1] ?? '')?.[0] : undefined;
  const attributes: Attributes = {
    'db.query.text': text.slice(0, maxTextLength),
    'db.operation.name': operation.toUpperCase(),
  };
  if (table) attributes['db.collection.name'] = table;
  return { name: table ? `${operation.toUpperCase()} ${table}` : operation.toUpperCase() || 'SQL', attributes };
}

/** Returns the words of a statement that are in no parentheses; `()` stands for each pair. */
function outerWords(text: string): string[] {
  const words: string[] = [];
  let depth = 0;
  for (const [token] of text.matchAll(/[()]|'[^']*'|[^\s()',]+/g)) {
    if (token === '(' && depth++ === 0) words.push('()');
    else if (token === ')') depth--;
    else if (token !== '(' && depth === 0) words.push(token);
  }
  return words;
}
