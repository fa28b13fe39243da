import type { Api } from './api.ts';
import { type ApiDocument, type Message, type Operation, resolved, type Schema } from './document.ts';
import { refusalOf } from './search.ts';

/** Nested references are inlined down to this depth. A deeper reference stays a `$ref`. */
const depth = 6;

/** Returns everything that a caller of an operation needs, with schemas inlined. */
export function describe({ document, me }: Api, operation: Operation): object {
  const { id, name, method, path, summary, description, scope, module, isRead, parameters, body, responses } =
    operation;
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'));
  const parametersIn = (place: string) =>
    parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name: parameter, required, description: text, schema }) => {
        return { name: parameter, required: required === true, description: text, schema: inlined(document, schema) };
      });
  return {
    operation: id,
    name,
    method,
    path,
    summary,
    description,
    scope,
    module,
    tool: isRead ? 'call_operation' : 'call_operation_write',
    note: refusalOf(operation, me),
    params: parametersIn('path'),
    query: parametersIn('query'),
    body: body && { required: body.required === true, ...contentOf(document, body) },
    response: success && { status: Number(success[0]), ...contentOf(document, success[1]) },
    errors: Object.entries(responses)
      .filter(([status]) => !status.startsWith('2'))
      .map(([status, each]) => ({ status: Number(status), description: each.description })),
  };
}

function contentOf(document: ApiDocument, { content = {} }: Message): object | undefined {
  const [body] = Object.values(content);
  if (body === undefined) return undefined;
  const [named] = Object.values(body.examples ?? {});
  const example = body.example ?? (named && resolved<{ value?: unknown }>(document, named).value);
  return { schema: body.schema && inlined(document, body.schema), example };
}

/** Inlines the references of a schema, down to `depth`. A recursive reference stays a `$ref`. */
function inlined(document: ApiDocument, schema: Schema, within: readonly string[] = []): unknown {
  const value = (each: unknown): unknown => {
    if (Array.isArray(each)) return each.map(value);
    if (each === null || typeof each !== 'object') return each;
    const { $ref, ...own } = each as Schema;
    if ($ref === undefined) return Object.fromEntries(Object.entries(own).map(([key, part]) => [key, value(part)]));
    if (within.length >= depth || within.includes($ref)) return each;
    const named = resolved<Schema>(document, { $ref });
    return inlined(document, { ...named, ...own }, [...within, $ref]);
  };
  return value(schema);
}
