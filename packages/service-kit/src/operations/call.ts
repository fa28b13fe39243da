import { type AccountContext, ApiError, type Operation } from '@customer-platform/contracts/core';
import type { Request } from 'express';
import type { Bus } from '../bus/bus.ts';
import type { Sql } from '../database/database.ts';
import type { DueWatch } from '../due-work/due-watch.ts';
import type { Connections } from '../fairness/fair-permits.ts';
import { bodyParser } from '../http/bodies/request-body.ts';
import { headersParser, inputParser, queryParser } from '../http/input.ts';
import type { WorkContext } from '../jobs/jobs.ts';
import { type OutboxRow, outboxRow } from '../outbox/outbox.ts';
import type { BaseConfig } from '../values/config.ts';
import { ResponseSeal, type StoredResponse } from './idempotency.ts';
import { askAs, type BoundOperation, type HandlerCall, type Implementation, type PrefetchCall } from './operation.ts';

/** Resources of a process that serves requests. */
export interface BindingContext<Resources>
  extends Pick<WorkContext<Resources>, 'sql' | 'log' | 'clock' | 'clocks' | 'resources' | 'eventsCommitted'> {
  /** Returns the caller's account: in services from the signed context, at the control plane from the admin token. Throws ApiError. */
  authenticate(request: Request): AccountContext;
  watch: Pick<DueWatch, 'lookSoon'>;
  connections: Connections;
  bus: Pick<Bus, 'ask'>;
  /** Holds the secret, shared by the service's processes, that encrypts stored responses that show a secret. */
  config: Pick<BaseConfig, 'CONTEXT_SECRET'>;
}

/** The response to send, made now or by an earlier request with the same key. */
export interface ServedResponse extends StoredResponse {
  isReplay: boolean;
}

/** Aborts a handler whose prefetch has not run yet; see `Call.prefetch`. */
export class PrefetchNeeded extends Error {
  readonly work: (call: PrefetchCall) => Promise<void>;
  constructor(work: (call: PrefetchCall) => Promise<void>) {
    super('a prefetch must run before the handler continues');
    this.work = work;
  }
}

/** The prefetches of one request, by name or by the handler's order, with their results once available. */
export class Prefetch {
  readonly #results = new Map<string, unknown>();

  /** Returns the `prefetch` function of one attempt at the request. Each attempt counts prefetches from the first. */
  attempt() {
    let place = 0;
    return <Result>(work: (call: PrefetchCall) => Promise<Result>, name = String(++place)): Result => {
      if (this.#results.has(name)) return this.#results.get(name) as Result;
      throw new PrefetchNeeded(async (call) => {
        this.#results.set(name, await work(call));
      });
    };
  }
}

/** One request on its way through the steps. */
export interface RequestCall {
  request: Request;
  account: AccountContext;
  prefetch: Prefetch;
}

type AnyCall<Resources> = HandlerCall<Operation, unknown, Resources>;

/** The steps of every request of one operation, and the state that its requests share. */
export class Steps<Resources> {
  readonly operation: Operation;
  readonly implementation: Implementation<Operation, unknown, Resources>;
  readonly context: BindingContext<Resources>;
  /** Encrypts stored responses that show a secret. */
  readonly seal: ResponseSeal | undefined;
  readonly #parseParams: ReturnType<typeof inputParser>;
  readonly #parseQuery: ReturnType<typeof queryParser>;
  readonly #parseBody: ReturnType<typeof bodyParser>;
  readonly #parseHeaders: ReturnType<typeof headersParser>;

  constructor(bound: BoundOperation<Resources>, context: BindingContext<Resources>) {
    const { operation } = bound;
    this.operation = operation;
    this.implementation = bound.implementation;
    this.context = context;
    this.seal = operation.respondsWithSecret ? new ResponseSeal(context.config.CONTEXT_SECRET) : undefined;
    this.#parseParams = inputParser(operation.params, 'text');
    this.#parseQuery = queryParser(operation.query);
    this.#parseBody = bodyParser(operation);
    this.#parseHeaders = headersParser(operation.headers);
  }

  /** Runs `work` with one of the connections of the account's owner. Throws the errors of `Connections.use`. */
  async onConnection<Result>({ account, request }: RequestCall, work: () => Promise<Result>): Promise<Result> {
    return await this.context.connections.use(account.owner, request.res, work);
  }

  /**
   * Runs the operation once on `tx`, in the promised order: path, query, body and headers, then the handler. Returns the handler's result and adds
   * its events to `events`. Throws PrefetchNeeded.
   */
  async run({ request, account, prefetch }: RequestCall, tx: Sql, now: Date, events: OutboxRow[]): Promise<unknown> {
    const { operation, implementation, context } = this;
    const { log, resources, clock } = context;
    const params = this.#paramsOf(request);
    const call = {
      account,
      params,
      tx,
      now,
      log,
      resources,
      fail,
      prefetch: prefetch.attempt(),
    } as AnyCall<Resources>;
    if (implementation.find) {
      call.found = await implementation.find(call);
      if (call.found === undefined) throw noSuchResource(operation);
      // A write that waited for its row's lock comes after the lock's holder. Its time is read under the lock.
      if (operation.method !== 'GET') call.now = clock();
    }
    call.query = this.#parseQuery(request.query as Record<string, unknown>);
    call.body = this.#parseBody(request) as never;
    call.headers = this.#parseHeaders(request) as never;
    call.emit = ((event: Parameters<typeof outboxRow>[0], data: unknown) => {
      const row = outboxRow(event, account, data, call.now);
      events.push(row);
      return row.id;
    }) as typeof call.emit;
    return await implementation.handle(call);
  }

  /** Returns the context of a prefetch for an account's request. */
  prefetchCall(call: RequestCall): PrefetchCall {
    const { account } = call;
    const { bus, clock, sql } = this.context;
    const onConnection: PrefetchCall['onConnection'] = (work) => this.onConnection(call, () => work(sql));
    const withPermit: PrefetchCall['withPermit'] = (permits, resource, work) =>
      permits.use(account.owner, resource, work, call.request.res);
    return { account, onConnection, withPermit, ask: askAs(bus, account.id), now: clock() };
  }

  #paramsOf(request: Request): Record<string, unknown> {
    try {
      return this.#parseParams(request.params);
    } catch (cause) {
      if (!(cause instanceof ApiError)) throw cause;
      const message = `There is no such ${resourceOf(this.operation)}: ${cause.message}`;
      throw new ApiError('not_found', message, { cause });
    }
  }
}

/** Returns the result of a read's handler, whose queries run on the pool without a transaction. Throws the refusal. */
export async function read<Resources>(
  steps: Steps<Resources>,
  request: Request,
  account: AccountContext,
): Promise<unknown> {
  const { clock, sql } = steps.context;
  const call = { request, account, prefetch: new Prefetch() };
  for (;;) {
    try {
      return await steps.onConnection(call, () => steps.run(call, sql, clock(), []));
    } catch (error) {
      if (!(error instanceof PrefetchNeeded)) throw error;
      await error.work(steps.prefetchCall(call));
    }
  }
}

function fail(code: 'not_found', message: string, field?: string): never {
  throw new ApiError(code, message, { field });
}

function noSuchResource(operation: Operation): ApiError {
  // Operators' requests belong to no account.
  const where = operation.path.startsWith('/admin/') ? '' : ' in this account';
  return new ApiError('not_found', `There is no such ${resourceOf(operation)}${where}`);
}

/** Names in paths that are not the regular plural of their resource. */
const irregular = new Map([['dead', 'dead event']]);

/** Returns the kind of resource that an operation's path names, in the singular. */
function resourceOf({ path }: Operation): string {
  const segments = path.split('/').filter((segment) => !/^(\{|by-)/.test(segment));
  const isNested = path.endsWith('}') || segments.length < 4;
  const name = segments[isNested ? segments.length - 1 : segments.length - 2] ?? 'resource';
  return irregular.get(name) ?? name.replaceAll('-', ' ').replace(/ies$/, 'y').replace(/s$/, '');
}
