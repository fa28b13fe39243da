import { join } from 'node:path';
import { ContactEventInput, WrittenContact } from '@customer-platform/contracts/cdp';
import {
  announceOperations,
  announcingServices,
  describeApi,
  describeProcess,
  type EventDefinition,
  type InternalRequest,
  isEvent,
  isOperation,
  moveClock,
  type Operation,
  operatorRequests,
  type ServiceName,
  serviceNames,
} from '@customer-platform/contracts/core';
import { z } from 'zod';
import { folderOf, versionIn } from '../deployables.ts';
import { dereferenced, type JsonSchema, type Schema } from './json-schema.ts';

/** Contract of one deployable at one version. Keys are sorted and descriptions left out, so only changes of the contract change it. */
export interface ContractRecord {
  version: string;
  /** By key. */
  operations: Record<string, OperationRecord>;
  /** By kind. */
  events: Record<string, EventRecord>;
  /** By key. */
  requests: Record<string, RequestRecord>;
}

/** Schemas of the request, `params`, `query` and `body`, and of the `response`; null if there is none. */
export interface OperationRecord {
  method: string;
  path: string;
  scope: string | null;
  gate: string | null;
  /** In bytes. */
  bodyLimit: number;
  bodyType: 'json' | 'multipart';
  status: number;
  params: Schema | null;
  query: Schema | null;
  body: Schema | null;
  response: Schema | null;
}

export interface EventRecord {
  audience: 'public' | 'internal';
  data: Schema;
  /** Schema that consumers accept, with optional fields for those with a default. If absent, `data`. */
  taken?: Schema;
}

export interface RequestRecord {
  input: Schema;
  reply: Schema;
}

/** Exports of the contracts, including values that no record needs. */
export type Exports = Readonly<Record<string, unknown>>;

/** Body limit in bytes of an operation without its own, the same as in service-kit. */
const defaultBodyLimit = 1_048_576;

/** Returns the current contracts of every deployable in the repository at `root`. */
export async function currentRecords(root: string): Promise<Record<ServiceName, ContractRecord>> {
  const exports = (await import(join(root, 'packages/contracts/src/everything.ts'))) as Exports;
  const entries = serviceNames.map((name) => [name, recordOf(name, versionIn(root, folderOf(name)), exports)]);
  return Object.fromEntries(entries) as Record<ServiceName, ContractRecord>;
}

/** Returns the contract of one deployable. */
export function recordOf(deployable: ServiceName, version: string, exports: Exports): ContractRecord {
  const values = [...Object.values(exports), ...Object.values((exports.adminOperations as object | undefined) ?? {})];
  const operations = values.filter(isOperation).filter(({ service }) => service === deployable);
  const events = values.filter(isEvent).filter(({ service }) => service === deployable);
  const requests = values.filter(isRequest).filter(({ service }) => service === deployable);
  return {
    version,
    operations: byName(operations.map((operation) => [operation.key, operationRecord(operation)])),
    events: byName(
      events.map((event) => {
        const { audience, data } = event;
        return [nameOf(event, events), { audience, data: outputOf(data), taken: inputOf(data) }];
      }),
    ),
    requests: byName([...requests, ...requestsOfEvery(deployable)].map((each) => [each.key, requestRecord(each)])),
  };
}

/** Returns the name of an event in a record: its kind, marked if an internal event shares it with a public one. */
function nameOf({ kind, audience }: EventDefinition, events: readonly EventDefinition[]): string {
  const isTwin = audience === 'internal' && events.some((other) => other.kind === kind && other.audience === 'public');
  return isTwin ? `${kind} (internal)` : kind;
}

function isRequest(value: unknown): value is InternalRequest {
  const { key, input, reply } = (value as Partial<InternalRequest> | null | undefined) ?? {};
  return key !== undefined && input !== undefined && reply !== undefined;
}

/** Returns the requests that every service handles, which no module's contract contains. */
function requestsOfEvery(deployable: ServiceName): Pick<InternalRequest, 'key' | 'input' | 'reply'>[] {
  const announces = announcingServices.some((name) => name === deployable);
  return [
    ...Object.values(operatorRequests(deployable)),
    describeProcess,
    moveClock,
    ...(announces ? [announceOperations, describeApi(deployable)] : []),
  ];
}

function operationRecord(operation: Operation): OperationRecord {
  const { method, path, scope, gate, status, params, query, body, response } = operation;
  return {
    method,
    path,
    scope,
    gate,
    bodyLimit: operation.bodyLimit ?? defaultBodyLimit,
    bodyType: operation.bodyType ?? 'json',
    status,
    params: params ? inputOf(params) : null,
    query: query ? inputOf(query) : null,
    body: body ? inputOf(body) : null,
    response: response ? outputOf(response) : null,
  };
}

function requestRecord({ input, reply }: Pick<InternalRequest, 'input' | 'reply'>): RequestRecord {
  return { input: inputOf(input), reply: outputOf(reply) };
}

/** Returns the schema of values that senders may send. */
export function inputOf(schema: z.ZodType): Schema {
  return canonical(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema);
}

/**
 * Returns the schema of validated values. It rejects unknown keys only if the schema itself does. zod marks
 * every object as strict, because validating drops unknown keys.
 */
export function outputOf(schema: z.ZodType): Schema {
  const written = z.toJSONSchema(schema, {
    io: 'output',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { type, catchall } = zodSchema._zod.def as { type: string; catchall?: z.core.$ZodType };
      if (type === 'object' && catchall?._zod.def.type !== 'never' && jsonSchema.additionalProperties === false)
        delete jsonSchema.additionalProperties;
    },
  });
  return canonical(written as JsonSchema);
}

/** Schemas of entries that are validated one by one. A body refers to them as components of the API document. */
const components: Record<string, z.ZodType> = {
  '#/components/schemas/ContactEvent': ContactEventInput,
  '#/components/schemas/WrittenContact': WrittenContact,
};

/** Keywords that only describe, or that name parts of the API document. */
const descriptive = new Set(
  '$schema title description examples example deprecated id outputId unusedIO param override'.split(' '),
);
/** Keywords that map arbitrary names to schemas. */
const maps = new Set(['properties', '$defs', 'patternProperties']);
/** Keywords whose values are not schemas. */
const plain = new Set(['enum', 'const', 'default']);

/** Returns a schema without descriptive keywords, with sorted keys and sets. */
export function canonical(schema: Schema): Schema {
  if (typeof schema !== 'object') return schema;
  const component = components[(schema.override as JsonSchema | undefined)?.$ref ?? ''];
  if (component) return embedded(inputOf(component));
  const entries = Object.entries(schema).filter(([keyword]) => !descriptive.has(keyword));
  return byName(entries.map(([keyword, value]) => [keyword, canonicalValue(keyword, value)]));
}

/** Returns a schema to embed in another. Throws an Error if it refers to parts of itself, which the other schema lacks. */
function embedded(schema: Schema): Schema {
  const target = dereferenced(schema, schema);
  if (JSON.stringify(target).includes('"$ref"'))
    throw new Error('A component of entries must not refer to another component');
  return target;
}

function canonicalValue(keyword: string, value: unknown): unknown {
  const isSet = keyword === 'required' || keyword === 'enum' || keyword === 'type';
  if (isSet && Array.isArray(value))
    return value.toSorted((one, other) => compare(JSON.stringify(one), JSON.stringify(other)));
  if (plain.has(keyword) || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((part) => (isSet ? part : canonical(part as Schema)));
  if (!maps.has(keyword)) return canonical(value as Schema);
  return byName(Object.entries(value).map(([name, part]) => [name, canonical(part as Schema)]));
}

function byName<Value>(entries: [string, Value][]): Record<string, Value> {
  return Object.fromEntries(entries.toSorted(([one], [other]) => compare(one, other)));
}

/** Compares by code units, so that the order is the same on every machine. */
function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
