import { type ClientOptions, send } from '../../requests/send.ts';
import { UsageError } from '../errors.ts';
import type { Api } from './api.ts';
import type { Operation } from './document.ts';
import { findOperation, findOperations } from './search.ts';
import { withoutSecrets } from './secrets.ts';

/** Arguments of the tools that call operations. */
export interface CallArguments {
  /** Id or name of the operation. */
  operation: string;
  /** Values of the path's placeholders. */
  params?: Record<string, unknown> | undefined;
  query?: Record<string, unknown> | undefined;
  body?: Record<string, unknown> | undefined;
}

/** A call with valid arguments. */
export interface PreparedCall {
  operation: Operation;
  method: string;
  path: string;
  query: Record<string, unknown> | undefined;
  body: Record<string, unknown> | undefined;
}

/** Returns the operation with an id or name. For an unknown operation, throws UsageError with similar ones. */
export function operationNamed(api: Api, text: string): Operation {
  const operation = findOperation(api, text);
  if (operation) return operation;
  const similar = findOperations(api, text).slice(0, 3);
  const proposal = similar.length > 0 ? `, did you mean ${similar.map((each) => each.operation).join(', ')}?` : ';';
  throw new UsageError(
    `operation: there is no ${JSON.stringify(text)}${proposal} search_operations finds the operations`,
  );
}

/** Validates arguments and returns the call. Throws UsageError that names the argument, for faults that the platform cannot detect. */
export function prepare(operation: Operation, { params = {}, query, body }: CallArguments): PreparedCall {
  const { id, method, path, obstacle } = operation;
  if (obstacle !== undefined) throw new UsageError(`operation: ${id} cannot be called here. ${obstacle}`);
  if (body !== undefined && !operation.body) throw new UsageError(`body: ${id} takes no body`);
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name!);
  const other = Object.keys(params).find((name) => !names.includes(name));
  if (other !== undefined) {
    const known = names.length > 0 ? `only the path parameters ${names.join(', ')}` : 'no path parameters';
    throw new UsageError(`params.${other}: ${id} has ${known}; a query parameter goes into query`);
  }
  const filled = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => segmentOf(id, name, params[name]));
  return { operation, method, path: filled, query, body };
}

/** Returns a value as a path segment. Throws UsageError for an empty value, `.` or `..`, which would change the path. */
function segmentOf(id: string, name: string, value: unknown): string {
  const isScalar = typeof value === 'string' || typeof value === 'number';
  const text = isScalar ? String(value) : '';
  if (!['', '.', '..'].includes(text)) return encodeURIComponent(text);
  const given = value === undefined ? 'but it is missing' : `not ${JSON.stringify(value)}`;
  throw new UsageError(`params.${name}: ${id} needs a string or a number, ${given}`);
}

/** Sends a call and returns its response without secrets. Throws a RequestError. */
export async function callOperation(client: ClientOptions, call: PreparedCall, signal: AbortSignal): Promise<unknown> {
  const { operation, method, path, query, body } = call;
  const { data } = await send(client, { operation: operation.id, method, path }, { query, body, signal });
  return data === undefined ? 'Done; the response has no body.' : withoutSecrets(data, operation.respondsWithSecret);
}

/** Returns how to get the rest of a response that was cut. */
export function pagingOf({ operation: { parameters } }: PreparedCall): string {
  const isList = parameters.some(({ name }) => name === 'limit');
  return isList
    ? 'ask for fewer entries with query.limit, and for the next page with the `next` of a complete response as query.starting_after'
    : 'ask for less';
}
