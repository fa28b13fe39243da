import type { z } from 'zod';
import type { DomainErrorCode } from './errors.ts';
import type { EventDefinition } from './event.ts';
import type { ModuleName, PathOf, Scope, ServiceName } from './modules.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One operation of the API: gateway, service, OpenAPI document, client and tests derive everything from it. */
export interface OperationSpec {
  readonly method: Method;
  /** Path template with `{name}` parameters, from the root: `/v1/calendar/appointments/{appointment_id}`. */
  readonly path: string;
  /** Name in the clients, such as `messages.send`, if it does not follow from path and key (see `clientName`). */
  readonly clientName?: string;
  /** The scope a key needs; null for operations that any key may call. */
  readonly scope: Scope | null;
  /** One line for the reference. */
  readonly summary: string;
  /** Facts that a caller needs beyond the schemas. */
  readonly description?: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** Encoding of a body that is not JSON: multipart/form-data, one part per field. */
  readonly bodyType?: 'multipart';
  readonly status: 200 | 201 | 202 | 204;
  /** The response's schema; left out for 204. */
  readonly response?: z.ZodType;
  /** The response is a stream of Server-Sent Events without a schema. It lasts until either side ends it. */
  readonly streams?: true;
  /** Request headers that the operation reads, by name. */
  readonly headers?: z.ZodObject;
  /** The response contains a secret, so the copy stored for its Idempotency-Key is encrypted. */
  readonly respondsWithSecret?: true;
  /** Maximum size of the body in bytes; 1 MiB if left out. */
  readonly bodyLimit?: number;
  /** Errors of this operation, in addition to the errors of every operation. */
  readonly errors: readonly DomainErrorCode[];
  /** Events that the operation can emit. */
  readonly emits?: readonly EventDefinition[];
  /** Set if the operation is deprecated. */
  readonly deprecated?: Deprecation;
}

/** Deprecation of an operation. Days such as 2026-11-01 begin at 00:00 UTC. */
export interface Deprecation {
  /** First day on which the operation is deprecated. */
  readonly since: string;
  /** Earliest day of removal, at least twelve months after `since`. */
  readonly sunset: string;
  /** The operation to call instead. */
  readonly instead: Pick<Operation, 'key' | 'path'>;
}

export interface Operation extends OperationSpec {
  readonly key: string;
  /** The deployable that serves it. */
  readonly service: ServiceName;
  /** Module without which the operation returns 404 module_off; null if the operation needs none. */
  readonly gate: ModuleName | null;
}

/** Declares the operations of one service. Each has one key, which is its name in files, exports, tests and clients. */
export function operationsOf<const Service extends ServiceName, const Gate extends ModuleName | null>(
  service: Service,
  gate: Gate,
) {
  return <const Key extends string, const Spec extends OperationSpec & { path: PathOf<Service> }>(
    key: Key,
    spec: Spec,
  ) =>
    Object.freeze({ key, service, gate, ...spec }) as {
      readonly key: Key;
      readonly service: Service;
      readonly gate: Gate;
    } & Spec;
}

/** The operations among a contract's exports, by key. An operation exported under another name does not compile. */
export type OperationsIn<Contract> = {
  [Name in keyof Contract as Contract[Name] extends { readonly key: string; readonly method: Method }
    ? Name
    : never]: Contract[Name] & { readonly key: Name };
};

/** The service of all operations of a contract; `never` if they have two. */
export type ServiceIn<Contract, Operations = OperationsIn<Contract>> = {
  [Key in keyof Operations]: (service: Operations[Key] extends Operation ? Operations[Key]['service'] : never) => void;
}[keyof Operations] extends (service: infer Service extends ServiceName) => void
  ? Service
  : never;

/** The events among a contract's exports. */
export type EventsIn<Contract> = {
  [Name in keyof Contract as Contract[Name] extends Pick<EventDefinition, 'kind' | 'audience'>
    ? Name
    : never]: Contract[Name];
};

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : Record<string, never>;
type Given<Schema> = Schema extends z.ZodType ? z.input<Schema> : undefined;

/** Path parameters, query, body and headers after validation, as a handler gets them. */
export type Params<O extends OperationSpec> = Parsed<O['params']>;
export type Query<O extends OperationSpec> = Parsed<O['query']>;
export type Body<O extends OperationSpec> = Parsed<O['body']>;
export type Headers<O extends OperationSpec> = Parsed<O['headers']>;

/** Path parameters, query and body before validation, as a caller passes them. */
export type ParamsInput<O extends OperationSpec> = Given<O['params']>;
export type QueryInput<O extends OperationSpec> = Given<O['query']>;
export type BodyInput<O extends OperationSpec> = Given<O['body']>;

/** Value that a handler returns and a caller gets. */
export type ResponseOf<O extends OperationSpec> = O['response'] extends z.ZodType ? z.output<O['response']> : undefined;

/** Errors and events that the operation's handler may use; any other does not compile. */
export type ErrorsOf<O extends OperationSpec> = O['errors'][number];
export type EventsOf<O extends OperationSpec> = O['emits'] extends readonly (infer E extends EventDefinition)[]
  ? E
  : never;

/** Returns whether a value, such as an export of a contract, is an operation. */
export function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'method' in value && 'path' in value && 'key' in value;
}

/** Returns whether a value is an event definition. */
export function isEvent(value: unknown): value is EventDefinition {
  return typeof value === 'object' && value !== null && 'kind' in value && 'audience' in value;
}
