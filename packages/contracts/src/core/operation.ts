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
  /** Its name in the clients, as `messages.send`, where that does not follow from path and key (`clientName`). */
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
  /** The response is a stream of Server-Sent Events, which goes on until one side ends it; it has no schema. */
  readonly streams?: true;
  /** Headers of the request that it reads, by their names. */
  readonly headers?: z.ZodObject;
  /** The response shows a secret once: what is stored of it for an Idempotency-Key is encrypted. */
  readonly respondsWithSecret?: true;
  /** The largest body in bytes, where it is not 1 MiB. */
  readonly bodyLimit?: number;
  /** The errors that this operation can respond with beyond those of every request. */
  readonly errors: readonly DomainErrorCode[];
  /** The events that it can emit. */
  readonly emits?: readonly EventDefinition[];
  /** Left out unless the operation will end. */
  readonly deprecated?: Deprecation;
}

/** The announced end of an operation. Days such as 2026-11-01 begin at 00:00 UTC. */
export interface Deprecation {
  /** Day since which new code should not call it. */
  readonly since: string;
  /** Day from which it may be gone, twelve months after `since` or later. */
  readonly sunset: string;
  /** The operation to call instead. */
  readonly instead: Pick<Operation, 'key' | 'path'>;
}

export interface Operation extends OperationSpec {
  readonly key: string;
  /** The deployable that serves it. */
  readonly service: ServiceName;
  /** The module whose absence leads to 404 module_off; null where there is no gate. */
  readonly gate: ModuleName | null;
}

/** Declares the operations of one service, each under the one name by which every file, export, test and client call knows it. */
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

/** The operations among a contract's exports, each under its key: nothing fits one that is exported under another name. */
export type OperationsIn<Contract> = {
  [Name in keyof Contract as Contract[Name] extends { readonly key: string; readonly method: Method }
    ? Name
    : never]: Contract[Name] & { readonly key: Name };
};

/** The service that all operations of a contract name; never, where they name two. */
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

/** The same as a caller gives them. */
export type ParamsInput<O extends OperationSpec> = Given<O['params']>;
export type QueryInput<O extends OperationSpec> = Given<O['query']>;
export type BodyInput<O extends OperationSpec> = Given<O['body']>;

/** Value that a handler returns and a caller gets. */
export type ResponseOf<O extends OperationSpec> = O['response'] extends z.ZodType ? z.output<O['response']> : undefined;

/** The errors and events that its handler may use; anything else does not compile. */
export type ErrorsOf<O extends OperationSpec> = O['errors'][number];
export type EventsOf<O extends OperationSpec> = O['emits'] extends readonly (infer E extends EventDefinition)[]
  ? E
  : never;

/** Returns whether a value is an operation, so that a module's exports are the list of its operations. */
export function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'method' in value && 'path' in value && 'key' in value;
}

/** Returns whether a value is an event definition. */
export function isEvent(value: unknown): value is EventDefinition {
  return typeof value === 'object' && value !== null && 'kind' in value && 'audience' in value;
}
