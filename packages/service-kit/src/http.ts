import { type AccountContext, ApiError, type Operation } from '@customer-platform/contracts/core';
import type { Express, Request, Response } from 'express';
import { refuseOtherMethods, routePattern, send, sendError } from './answers.ts';
import { type Database, inTransaction, isUndoneForAnother, type Sql, serviceUnavailable } from './database.ts';
import {
  type AnswerSeal,
  claimKey,
  type IdempotencyClaim,
  idempotencyKey,
  KeyWaiters,
  type StoredAnswer,
  storeAnswer,
} from './idempotency.ts';
import { inputParser, queryParser } from './input.ts';
import { type Logger, withWorkContext } from './logging.ts';
import type { Ask, BoundOperation } from './operation.ts';
import { type OutboxRow, outboxRow, writeOutbox } from './outbox.ts';
import { Outside, OutsideNeeded } from './outside.ts';
import { bodyFingerprint, bodyParser, bodyReader, releaseBody } from './request-body.ts';
import { inSpan, meter, SpanKind } from './telemetry.ts';

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
  /** Encrypts stored answers that show a secret. */
  seal: AnswerSeal;
}

/** How many requests a process is working on at this moment. */
export interface RequestCount {
  underWay: number;
}

/** So often a write is begun that is undone for another one. */
const maxTries = 3;
/** Most requests that are worked on at once; more are refused with 503 rather than queued without bound. */
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
  const { requests } = context;
  const inTurn = async (work: () => Promise<number>) => {
    if (requests.underWay >= maxConcurrentRequests) {
      throw serviceUnavailable('Too many requests are in progress; try again shortly');
    }
    requests.underWay++;
    try {
      return await work();
    } finally {
      requests.underWay--;
    }
  };
  const ownerOf = (request: Request) => context.authenticate(request).owner;
  const methods = new Map<string, string[]>();
  for (const bound of operations) {
    const answer = answerer(bound, context, waiters);
    const { operation } = bound;
    const path = routePattern(operation.path);
    const serve = (request: Request, response: Response) =>
      traced(operation, request, async () => {
        const began = performance.now();
        const status = await inTurn(() => answer(request, response))
          .catch((error: unknown) => sendError(response, error, context.log))
          .finally(() => releaseBody(request));
        duration.record((performance.now() - began) / 1000, { operation: operation.key, status });
        return status;
      });
    const route = app.route(path);
    const served = operation.method === 'GET' ? ['GET', 'HEAD'] : [operation.method];
    methods.set(path, [...(methods.get(path) ?? []), ...served]);
    if (operation.method === 'GET') route.get(serve);
    else route[operation.method.toLowerCase() as 'post'](bodyReader(operation, ownerOf), serve);
  }
  for (const [path, allowed] of methods) refuseOtherMethods(app, path, [...allowed, 'OPTIONS'].join(', '));
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

/** The steps of one request, in the order that the API promises: idempotency, path, body and query, then the handler. */
function answerer<Resources>(
  bound: BoundOperation<Resources>,
  context: BindingContext<Resources>,
  waiters: KeyWaiters,
) {
  const { operation, implementation } = bound;
  const { sql, log, resources } = context;
  const parseParams = inputParser(operation.params, 'text');
  const parseQuery = queryParser(operation.query);
  const parseBody = bodyParser(operation);
  const isWrite = operation.method !== 'GET';

  const isSecret = (stored: StoredAnswer) => operation.answersSecret && stored.status < 300 && stored.answer !== null;
  const sealed = (stored: StoredAnswer) =>
    isSecret(stored) ? { ...stored, answer: context.seal.seal(stored.answer!) } : stored;
  const opened = (stored: StoredAnswer) =>
    isSecret(stored) ? { ...stored, answer: context.seal.open(stored.answer!) } : stored;

  /** Runs the operation once on `tx`; collects its events in `events`. */
  async function run(
    request: Request,
    account: AccountContext,
    tx: Sql,
    now: Date,
    events: OutboxRow[],
    outside: Outside,
  ) {
    const fail = (code: 'not_found', message: string, field?: string): never => {
      throw new ApiError(code, message, { field });
    };
    const params = parsedPath(parseParams, request);
    const ask = context.askFor(account);
    const call = {
      account,
      params,
      tx,
      now,
      log,
      resources,
      fail,
      ask,
      outsideOnce: outside.once,
    } as never as Parameters<typeof implementation.handle>[0];
    if (implementation.find) {
      const found = await implementation.find(call);
      if (found === undefined)
        throw new ApiError('not_found', `There is no such ${resourceName(operation)} in this account`);
      call.found = found;
      // A write that waited for its row's lock is later than the one it waited for: its time is read under the lock.
      if (isWrite) call.now = context.clock();
    }
    call.query = parseQuery(request.query as Record<string, unknown>) as typeof call.query;
    call.body = parseBody(request) as never;
    call.emit = ((event: Parameters<typeof outboxRow>[0], data: unknown) => {
      const row = outboxRow(event, account, data, call.now);
      events.push(row);
      return row.id;
    }) as typeof call.emit;
    return await implementation.handle(call);
  }

  /** One attempt at a write: everything in one transaction. */
  async function attemptWrite(
    request: Request,
    account: AccountContext,
    claim: IdempotencyClaim | undefined,
    outside: Outside,
  ) {
    const now = context.clock();
    const events: OutboxRow[] = [];
    const isByItself = claim === undefined && implementation.isOneStatement === true;
    const within: typeof inTransaction = isByItself ? (pool, work) => work(pool) : inTransaction;
    const outcome = await within(sql, async (tx): Promise<Outcome | 'running'> => {
      const known = claim && (await claimKey(tx, claim, now));
      if (known === 'running') return known;
      if (known) return { ...opened(known), replayed: true };
      const answer = await run(request, account, tx, now, events, outside);
      const stored = { status: operation.status, answer: operation.status === 204 ? null : JSON.stringify(answer) };
      const [kept] = await Promise.all([
        claim ? storeAnswer(tx, claim, sealed(stored), now) : true,
        writeOutbox(tx, events),
      ]);
      if (!kept) throw new StoredElsewhere();
      return { ...stored, replayed: false };
    });
    if (outcome !== 'running' && !outcome.replayed) {
      if (events.length > 0) context.eventsCommitted();
      implementation.committed?.(resources);
    }
    return outcome;
  }

  /** Stores a refusal under its key, so that the same request gets the same answer; another's stored answer wins. */
  async function storeRefusal(error: unknown, claim: IdempotencyClaim): Promise<Outcome | 'running'> {
    if (!(error instanceof ApiError) || ![400, 404, 409].includes(error.status) || error.headers['Retry-After'])
      throw error;
    if (error.field === 'Idempotency-Key') throw error;
    const now = context.clock();
    const stored = { status: error.status, answer: JSON.stringify(error.toBody()) };
    return await inTransaction(sql, async (tx) => {
      const known = await claimKey(tx, claim, now);
      if (known === 'running') return known;
      if (known) return { ...opened(known), replayed: true };
      return (await storeAnswer(tx, claim, stored, now)) ? { ...stored, replayed: false } : 'running';
    });
  }

  async function write(request: Request, account: AccountContext): Promise<Outcome> {
    const key = request.method === 'PUT' ? undefined : idempotencyKey(request.header('idempotency-key'));
    const path = request.path;
    const claim = key && {
      accountId: account.id,
      method: request.method,
      path,
      key,
      fingerprint: bodyFingerprint(request),
    };
    const outside = new Outside();
    const begin = (tries = 1): Promise<Outcome | 'running'> =>
      attemptWrite(request, account, claim || undefined, outside).catch((error: unknown) => {
        if (tries === maxTries || !isUndoneForAnother(error)) throw error;
        return begin(tries + 1);
      });
    const attempt = async (): Promise<Outcome | 'running'> => {
      try {
        return await begin().catch(async (error: unknown) => {
          if (!(error instanceof OutsideNeeded)) throw error;
          await error.work({ account, sql, ask: context.askFor(account), now: context.clock() });
          return await begin();
        });
      } catch (error) {
        if (error instanceof StoredElsewhere) return 'running';
        if (claim) return await storeRefusal(error, claim);
        throw error;
      }
    };
    const outcome = await attempt();
    return outcome === 'running' ? await waiters.wait(account.id, attempt) : outcome;
  }

  async function read(request: Request, account: AccountContext): Promise<Outcome> {
    const outside = new Outside();
    const attempt = () => run(request, account, sql, context.clock(), [], outside);
    const answer = await attempt().catch(async (error: unknown) => {
      if (!(error instanceof OutsideNeeded)) throw error;
      await error.work({ account, sql, ask: context.askFor(account), now: context.clock() });
      return await attempt();
    });
    return { status: operation.status, answer: JSON.stringify(answer), replayed: false };
  }

  return async (request: Request, response: Response): Promise<number> => {
    const account = context.authenticate(request);
    const outcome = isWrite ? await write(request, account) : await read(request, account);
    if (outcome.replayed) response.setHeader('Idempotent-Replayed', 'true');
    send(response, outcome.status, outcome.answer);
    return outcome.status;
  };
}

interface Outcome extends StoredAnswer {
  replayed: boolean;
}

/** Another transaction stored an answer under the key first; this one is rolled back and that one repeated. */
class StoredElsewhere extends Error {}

function parsedPath(parse: (given: Record<string, unknown>) => Record<string, unknown>, request: Request) {
  try {
    return parse(request.params);
  } catch (cause) {
    throw new ApiError('not_found', 'No resource has this id', { cause });
  }
}

function resourceName(operation: Operation): string {
  const segments = operation.path.split('/').filter((segment) => !segment.startsWith('{'));
  const isNested = operation.path.endsWith('}') || segments.length < 4;
  const name = segments[isNested ? segments.length - 1 : segments.length - 2] ?? 'resource';
  return name.replaceAll('-', ' ').replace(/ies$/, 'y').replace(/s$/, '');
}
