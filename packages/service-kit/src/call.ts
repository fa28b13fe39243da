import { type AccountContext, ApiError, type Operation } from '@customer-platform/contracts/core';
import type { Express, Request, Response } from 'express';
import { type Database, type Sql, serviceUnavailable } from './database.ts';
import { KeyWaiters, type ResponseSeal, type StoredResponse } from './idempotency.ts';
import { inputParser, queryParser } from './input.ts';
import { type Logger, withWorkContext } from './logging.ts';
import type { Ask, BoundOperation, HandlerCall, Implementation, PrefetchCall } from './operation.ts';
import { type OutboxRow, outboxRow } from './outbox.ts';
import type { Prefetch } from './prefetch.ts';
import { read } from './read.ts';
import { bodyParser, bodyReader, releaseBody } from './request-body.ts';
import { refuseOtherMethods, routePattern, send, sendError } from './responses.ts';
import { inSpan, meter, SpanKind } from './telemetry.ts';
import { write } from './write.ts';

/** What binding needs of the process. */
export interface BindingContext<Resources> {
  sql: Database;
  log: Logger;
  clock: () => Date;
  resources: Resources;
  /** Who may call and for whom: reads the signed context in services, the admin token at the control plane. Throws ApiError. */
  authenticate(request: Request): AccountContext;
  askFor(account: AccountContext): Ask;
  /** Called after a commit that wrote events. */
  eventsCommitted(): void;
  requests: RequestCount;
  /** Encrypts stored responses that show a secret. */
  seal: ResponseSeal;
}

/** How many requests a process is working on at this moment. */
export interface RequestCount {
  underWay: number;
}

/** Maximum number of requests that are worked on at once; more are refused with 503 rather than queued without bound. */
const maxConcurrentRequests = 1_000;

const duration = meter.createHistogram('http.server.request.duration', {
  unit: 's',
  description: 'Time to answer, by operation and status.',
});

/** Serves operations on an Express app: one route each, from its contract. */
export function bindOperations<Resources>(
  app: Express,
  operations: readonly BoundOperation<Resources>[],
  context: BindingContext<Resources>,
): void {
  const waiters = new KeyWaiters();
  const ownerOf = (request: Request) => context.authenticate(request).owner;
  const methods = new Map<string, string[]>();
  for (const bound of operations) {
    const { operation } = bound;
    const steps = new Steps(bound, context, waiters);
    const handle = (request: Request, response: Response) =>
      traced(operation, request, () => serve(steps, request, response));
    const path = routePattern(operation.path);
    const route = app.route(path);
    const served = operation.method === 'GET' ? ['GET', 'HEAD'] : [operation.method];
    methods.set(path, [...(methods.get(path) ?? []), ...served]);
    if (operation.method === 'GET') route.get(handle);
    else route[operation.method.toLowerCase() as 'post'](bodyReader(operation, ownerOf), handle);
  }
  for (const [path, allowed] of methods) refuseOtherMethods(app, path, [...allowed, 'OPTIONS'].join(', '));
}

/** Answers a request, whatever happens, and measures how long that takes; returns the status. */
async function serve<Resources>(steps: Steps<Resources>, request: Request, response: Response): Promise<number> {
  const beganMs = performance.now();
  let status: number;
  try {
    status = await respond(steps, request, response);
  } catch (error) {
    status = sendError(response, error, steps.context.log);
  } finally {
    releaseBody(request);
  }
  duration.record((performance.now() - beganMs) / 1000, { operation: steps.operation.key, status });
  return status;
}

/** Responds to a request; returns the status. Throws what it is refused with. */
async function respond<Resources>(steps: Steps<Resources>, request: Request, response: Response): Promise<number> {
  const { operation, context } = steps;
  const { requests } = context;
  if (requests.underWay >= maxConcurrentRequests) {
    throw serviceUnavailable('Too many requests are in progress; try again shortly');
  }
  requests.underWay++;
  try {
    const account = context.authenticate(request);
    const isRead = operation.method === 'GET';
    const served = isRead ? await read(steps, request, account) : await write(steps, request, account);
    if (served.kind === 'replayed') response.setHeader('Idempotent-Replayed', 'true');
    send(response, served.status, served.body);
    return served.status;
  } finally {
    requests.underWay--;
  }
}

function traced(operation: Operation, request: Request, work: () => Promise<number>): Promise<number> {
  const requestId = request.header('request-id');
  const { traceparent, tracestate } = request.headers as Record<string, string | undefined>;
  const parent = traceparent ? { traceparent, ...(tracestate ? { tracestate } : {}) } : undefined;
  return withWorkContext(requestId ? { requestId } : {}, () =>
    inSpan(
      `${operation.method} ${operation.path}`,
      {
        kind: SpanKind.SERVER,
        attributes: { 'platform.operation': operation.key, 'platform.request_id': requestId ?? '' },
        parent,
      },
      async (span) => {
        const status = await work();
        span?.setAttribute('http.response.status_code', status);
        return status;
      },
    ),
  );
}

/** The response to send, made now or before under the same key. */
export interface ServedResponse extends StoredResponse {
  kind: 'done' | 'replayed';
}

/** One request on its way through the steps. */
export interface RequestCall {
  request: Request;
  account: AccountContext;
  prefetch: Prefetch;
}

type AnyCall<Resources> = HandlerCall<Operation, unknown, Resources>;

/** The steps that every request of one operation goes through, and what its requests share. */
export class Steps<Resources> {
  readonly operation: Operation;
  readonly implementation: Implementation<Operation, unknown, Resources>;
  readonly context: BindingContext<Resources>;
  readonly waiters: KeyWaiters;
  readonly #parseParams: ReturnType<typeof inputParser>;
  readonly #parseQuery: ReturnType<typeof queryParser>;
  readonly #parseBody: ReturnType<typeof bodyParser>;

  constructor(bound: BoundOperation<Resources>, context: BindingContext<Resources>, waiters: KeyWaiters) {
    const { operation } = bound;
    this.operation = operation;
    this.implementation = bound.implementation;
    this.context = context;
    this.waiters = waiters;
    this.#parseParams = inputParser(operation.params, 'text');
    this.#parseQuery = queryParser(operation.query);
    this.#parseBody = bodyParser(operation);
  }

  /**
   * Runs the operation once on `tx`, in the order that the API promises: path, body and query, then the handler. Returns what the handler
   * returned; adds its events to `events`. Throws PrefetchNeeded.
   */
  async run({ request, account, prefetch }: RequestCall, tx: Sql, now: Date, events: OutboxRow[]): Promise<unknown> {
    const { operation, implementation, context } = this;
    const { log, resources, clock } = context;
    const params = this.#paramsOf(request);
    const ask = context.askFor(account);
    const call = { account, params, tx, now, log, resources, fail, ask, prefetch: prefetch.once } as AnyCall<Resources>;
    if (implementation.find) {
      call.found = await implementation.find(call);
      if (call.found === undefined) throw noSuchResource(operation);
      // A write that waited for its row's lock is later than the one it waited for: its time is read under the lock.
      if (operation.method !== 'GET') call.now = clock();
    }
    call.query = this.#parseQuery(request.query as Record<string, unknown>);
    call.body = this.#parseBody(request) as never;
    call.emit = ((event: Parameters<typeof outboxRow>[0], data: unknown) => {
      const row = outboxRow(event, account, data, call.now);
      events.push(row);
      return row.id;
    }) as typeof call.emit;
    return await implementation.handle(call);
  }

  /** What a prefetch of an account's request gets. */
  prefetchCall(account: AccountContext): PrefetchCall {
    const { context } = this;
    return { account, sql: context.sql, ask: context.askFor(account), now: context.clock() };
  }

  #paramsOf(request: Request): Record<string, unknown> {
    try {
      return this.#parseParams(request.params);
    } catch (cause) {
      throw new ApiError('not_found', 'No resource has this id', { cause });
    }
  }
}

function fail(code: 'not_found', message: string, field?: string): never {
  throw new ApiError(code, message, { field });
}

function noSuchResource({ path }: Operation): ApiError {
  const segments = path.split('/').filter((segment) => !segment.startsWith('{'));
  const isNested = path.endsWith('}') || segments.length < 4;
  const name = segments[isNested ? segments.length - 1 : segments.length - 2] ?? 'resource';
  const resource = name.replaceAll('-', ' ').replace(/ies$/, 'y').replace(/s$/, '');
  return new ApiError('not_found', `There is no such ${resource} in this account`);
}
