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

/** Asks other services in the name of one account. */
export function askAs(bus: Pick<Bus, 'ask'>, accountId: string): Ask {
  return (request, input) => bus.ask(request, accountId, input);
}

/** Context of a prefetch, which runs without a transaction. */
export interface PrefetchCall {
  account: AccountContext;
  /** Does `work` with a connection of the pool, one of those that the account's owner may have: it must not ask anybody meanwhile. */
  onConnection<Result>(work: (sql: Database) => Promise<Result>): Promise<Result>;
  /** Does `work` with one of the permits that the account's owner may have. Throws 429 or 503 where none is free in time, naming `whatIsBusy`. */
  withPermit<Result>(permits: PermitQueue, whatIsBusy: string, work: () => Promise<Result>): Promise<Result>;
  ask: Ask;
  now: Date;
}

/** Context of every handler. `Resources` is what the service's `start.ts` makes once at start. */
export interface Call<O extends Operation, Resources = unknown> {
  account: AccountContext;
  params: Params<O>;
  /** The transaction of a write; the pool of a read. */
  tx: Sql;
  /** The instant of the request: domain rules take the time from here only. */
  now: Date;
  log: Logger;
  resources: Resources;
  /** Refuses the request with an error that the operation declares, or with invalid_request for one input. */
  fail: {
    (code: ErrorsOf<O>, message: string): never;
    (code: 'invalid_request', message: string, field: string): never;
  };
  /**
   * Returns what `work` learns from other services. The first time, the transaction is rolled back, `work` runs without one, and the
   * handler starts over; from then on its result is returned. Several are told apart by their order; one that is not asked for again, since what it
   * learned is stored, has a name.
   */
  prefetch<Result>(work: (call: PrefetchCall) => Promise<Result>, name?: string): Result;
}

export interface HandlerCall<O extends Operation, Found, Resources> extends Call<O, Resources> {
  query: Query<O>;
  body: Body<O>;
  /** Those that the operation declares. */
  headers: Headers<O>;
  /** Result of `find`. */
  found: Found;
  /** Publishes an event with this transaction; returns its id. */
  emit: Emit<EventsOf<O>>;
}

/** Begins a stream as the response, which goes on by itself. */
export type BeginStream = (response: ServerResponse) => void;

/** Implementation of one operation. */
export interface Implementation<O extends Operation, Found, Resources> {
  /** Finds what the path names, before body and query are looked at; undefined leads to 404 not_found. */
  find?(call: Call<O, Resources>): Promise<Found | undefined>;
  /** Handles a request and returns the contract's response; of an operation that streams what begins the stream, or throws ApiError. */
  handle(call: HandlerCall<O, Found, Resources>): Promise<O extends { streams: true } ? BeginStream : ResponseOf<O>>;
  /** Runs after the commit of an account's write that was not a replay: to wake work, never to change data. */
  committed?(resources: Resources, account: AccountContext): void;
  /**
   * Called before a stored response is sent to a repeated Idempotency-Key, unless that is a refusal: throws ApiError where this caller may not
   * have what another one of the account was sent.
   */
  replayed?(account: AccountContext, response: ResponseOf<O>): void;
  /**
   * All that it writes is one statement, and it emits nothing: without an Idempotency-Key it commits by itself, and two round trips to
   * the database are saved.
   */
  isOneStatement?: EventsOf<O> extends never ? true : never;
}

/** An operation with its implementation, ready to be bound. */
export interface BoundOperation<Resources = never, Key = string> {
  operation: Operation & { readonly key: Key };
  implementation: Implementation<Operation, unknown, Resources>;
}

/** The implementations of a contract's operations, each under its operation's key: none missing, none of another contract. */
export type Implements<Contract, Resources = undefined> = {
  [Key in keyof OperationsIn<Contract>]: BoundOperation<Resources, Key>;
};

/** Makes the `implement` of a service: `implement(operation, { find, handle })` is what an operation's file exports. */
export function implementer<Resources = undefined>() {
  return <O extends Operation, Found = undefined>(
    operation: O,
    implementation: Implementation<O, Found, Resources>,
  ): BoundOperation<Resources, O['key']> => ({
    operation,
    implementation: implementation as unknown as Implementation<Operation, unknown, Resources>,
  });
}
