import type { ServerResponse } from 'node:http';
import type {
  AccountContext,
  Body,
  ErrorsOf,
  EventsOf,
  Headers,
  InternalRequest,
  Operation,
  OperationsIn,
  Params,
  Query,
  ResponseOf,
} from '@customer-platform/contracts/core';
import type { z } from 'zod';
import type { Bus } from '../bus/bus.ts';
import type { Database, Sql } from '../database/database.ts';
import type { PermitQueue } from '../fairness/fair-permits.ts';
import type { Emit } from '../outbox/outbox.ts';
import type { Logger } from '../telemetry/logging.ts';

/** Asks another service; see `Bus.ask`. */
export type Ask = <Request extends InternalRequest>(
  request: Request,
  input: z.input<Request['input']>,
) => Promise<z.output<Request['reply']>>;

/** Returns an `Ask` on behalf of one account. */
export function askAs(bus: Pick<Bus, 'ask'>, accountId: string): Ask {
  return (request, input) => bus.ask(request, accountId, input);
}

/** Context of a prefetch, which runs without a transaction. */
export interface PrefetchCall {
  account: AccountContext;
  /** Runs `work` with one of the pool connections of the account's owner. `work` must not ask another service. */
  onConnection<Result>(work: (sql: Database) => Promise<Result>): Promise<Result>;
  /** Runs `work` with one of the owner's permits. Throws 429 or 503, naming `resource`, if none becomes free in time. */
  withPermit<Result>(permits: PermitQueue, resource: string, work: () => Promise<Result>): Promise<Result>;
  ask: Ask;
  now: Date;
}

/** Context of every handler. The service's `start.ts` makes the `Resources` once at start. */
export interface Call<O extends Operation, Resources = unknown> {
  account: AccountContext;
  params: Params<O>;
  /** The transaction of a write; the pool of a read. */
  tx: Sql;
  /** The instant of the request. Domain rules take the time only from here. */
  now: Date;
  log: Logger;
  resources: Resources;
  /** Refuses the request with an error that the operation declares, or with invalid_request for one field. */
  fail: {
    (code: ErrorsOf<O>, message: string): never;
    (code: 'invalid_request', message: string, field: string): never;
  };
  /**
   * Returns the result of `work`, which asks other services. The first call rolls the transaction back, runs `work` without one and restarts the
   * handler. Later calls return the result. Calls are told apart by their order. A call that a restarted handler may skip, since its result is
   * stored, needs a `name`.
   */
  prefetch<Result>(work: (call: PrefetchCall) => Promise<Result>, name?: string): Result;
}

export interface HandlerCall<O extends Operation, Found, Resources> extends Call<O, Resources> {
  query: Query<O>;
  body: Body<O>;
  /** The headers that the operation declares. */
  headers: Headers<O>;
  /** Result of `find`. */
  found: Found;
  /** Publishes an event with this transaction and returns its id. */
  emit: Emit<EventsOf<O>>;
}

/** Starts a stream as the response. The stream then runs by itself. */
export type BeginStream = (response: ServerResponse) => void;

/** Implementation of one operation. */
export interface Implementation<O extends Operation, Found, Resources> {
  /** Finds the resource in the path, before query and body are read. Undefined leads to 404 not_found. */
  find?(call: Call<O, Resources>): Promise<Found | undefined>;
  /** Handles a request and returns the contract's response; a streaming operation returns the start of its stream. May throw ApiError. */
  handle(call: HandlerCall<O, Found, Resources>): Promise<O extends { streams: true } ? BeginStream : ResponseOf<O>>;
  /** Runs after the commit of a write that is not a replay. May wake work, but not change data. */
  committed?(resources: Resources, account: AccountContext): void;
  /**
   * Called before a stored response is replayed, unless it is a refusal. Throws ApiError if this caller may not see a response that another caller
   * of the account got.
   */
  replayed?(account: AccountContext, response: ResponseOf<O>): void;
  /**
   * The handler writes one statement and emits nothing. Without an Idempotency-Key it then commits by itself, which saves two round trips
   * to the database.
   */
  isOneStatement?: EventsOf<O> extends never ? true : never;
}

/** An operation with its implementation, ready to be bound. */
export interface BoundOperation<Resources = never, Key = string> {
  operation: Operation & { readonly key: Key };
  implementation: Implementation<Operation, unknown, Resources>;
}

/** The implementations of a contract's operations by operation key. The type requires all of them and allows no others. */
export type Implements<Contract, Resources = undefined> = {
  [Key in keyof OperationsIn<Contract>]: BoundOperation<Resources, Key>;
};

/** Returns the `implement` of a service. An operation's file exports `implement(operation, { find, handle })`. */
export function implementer<Resources = undefined>() {
  return <O extends Operation, Found = undefined>(
    operation: O,
    implementation: Implementation<O, Found, Resources>,
  ): BoundOperation<Resources, O['key']> => ({
    operation,
    implementation: implementation as unknown as Implementation<Operation, unknown, Resources>,
  });
}
