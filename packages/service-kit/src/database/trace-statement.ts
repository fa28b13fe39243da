import { type Attributes, SpanKind } from '@opentelemetry/api';
import { childSpan, errorType, markFailed } from '../telemetry/telemetry.ts';
import type { Statement } from './pool/statement.ts';

/** Longest text of a statement in a span. */
const maxTextLength = 1_000;

/** By the template literal, of which there is one for each place in the code. */
const descriptions = new WeakMap<readonly string[], ReturnType<typeof describeStatement>>();

/**
 * Gives a statement of a trace a client span; none where there is no trace, so that polls make none. `database` has what the spans of its pool have in common.
 * Values are no part of it: they may be anybody's.
 */
export function traceStatement(statement: Statement, database: Attributes): void {
  const described = () => {
    const description = descriptions.get(statement.template) ?? describeStatement(statement.template);
    descriptions.set(statement.template, description);
    return description;
  };
  const span = childSpan(
    () => described().name,
    () => ({ kind: SpanKind.CLIENT, attributes: { ...database, ...described().attributes } }),
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

/** What changes a table; not the UPDATE of FOR UPDATE, FOR NO KEY UPDATE and DO UPDATE. */
const change = /(?<!\b(?:for|key|do) )\b(insert into|update|delete from|merge into) ([a-z_][\w.]*)/i;

/**
 * Describes the statement of a template literal, by the first change in it or else by what it reads; its values are question marks. Its name is the
 * operation and, where it is plain, the table: "SELECT contacts".
 */
export function describeStatement(strings: readonly string[]) {
  const text = strings
    .join('?')
    .replace(/--[^\n]*/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  const unquoted = text.replace(/'[^']*'/g, '');
  const [, verb, changed] = change.exec(unquoted) ?? [];
  const [, read] = /\bfrom ([a-z_][\w.]*)/i.exec(unquoted) ?? [];
  const first = verb ?? (/\bselect\b/i.test(unquoted) ? 'select' : (/^\w+/.exec(unquoted)?.[0] ?? 'sql'));
  const operation = first.split(' ')[0]!.toUpperCase();
  const table = changed ?? read;
  const attributes: Attributes = { 'db.query.text': text.slice(0, maxTextLength), 'db.operation.name': operation };
  if (table) attributes['db.collection.name'] = table;
  return { name: table ? `${operation} ${table}` : operation, attributes };
}
