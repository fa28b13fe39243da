import { hash } from 'node:crypto';
import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import type { Request } from 'express';
import { lockChanges } from '../database/change-order.sql.ts';
import { inTransaction, type Sql } from '../database/database.ts';
import { isTransactionConflict } from '../database/database-errors.ts';
import { bodyFingerprint } from '../http/bodies/request-body.ts';
import { type OutboxRow, writeOutbox } from '../outbox/outbox.ts';
import {
  type BindingContext,
  Prefetch,
  PrefetchNeeded,
  type RequestCall,
  type ServedResponse,
  type Steps,
} from './call.ts';
import {
  claimKey,
  type IdempotencyClaim,
  idempotencyKey,
  isStoredAlready,
  KeyRunning,
  storeResponse,
  waitForKey,
} from './idempotency.ts';

/** Maximum number of attempts of a write that ends in deadlocks or serialization failures. */
const maxAttempts = 3;

/** Longest path that is stored as it is. A longer one is hashed, since it does not fit into an index. */
const longestPath = 1_000;

/** One write, from its first attempt to its last. */
interface Write<Resources> extends RequestCall {
  steps: Steps<Resources>;
  claim: IdempotencyClaim | undefined;
}

/** Serves one write, with one transaction per attempt. Throws the refusal. */
export async function write<Resources>(
  steps: Steps<Resources>,
  request: Request,
  account: AccountContext,
): Promise<ServedResponse> {
  const call = { steps, request, account, prefetch: new Prefetch(), claim: claimOf(steps, request, account) };
  let [rollbacks, waits, waitedSinceMs] = [0, 0, 0];
  for (let work: PrefetchNeeded['work'] | undefined; ; ) {
    try {
      const served = await attempt(call, work);
      if (served.isReplay && served.status < 300)
        steps.implementation.replayed?.(account, JSON.parse(served.body ?? 'null'));
      return served;
    } catch (error) {
      work = error instanceof PrefetchNeeded ? error.work : undefined;
      if (error instanceof KeyRunning || isStoredAlready(error)) {
        waitedSinceMs ||= performance.now();
        await waitForKey(account.id, waitedSinceMs, ++waits);
      } else if (!work && (!isTransactionConflict(error) || ++rollbacks === maxAttempts)) throw error;
    }
  }
}

/** Returns the claim of the request's key, if it has one. A PUT needs none. Throws invalid_request for an invalid key. */
function claimOf<Resources>({ seal }: Steps<Resources>, request: Request, account: AccountContext) {
  const { method } = request;
  const path = request.path.length > longestPath ? hash('sha256', request.path) : request.path;
  const key = method === 'PUT' ? undefined : idempotencyKey(request.header('idempotency-key'));
  if (key === undefined) return undefined;
  return { accountId: account.id, method, path, key, fingerprint: bodyFingerprint(request), seal };
}

/** Makes one attempt after a needed prefetch. Throws PrefetchNeeded, KeyRunning, the error of `isStoredAlready` and refusals not stored. */
async function attempt<Resources>(call: Write<Resources>, work?: PrefetchNeeded['work']): Promise<ServedResponse> {
  const { steps, claim } = call;
  try {
    await work?.(steps.prefetchCall(call));
    return await steps.onConnection(call, () => commit(call));
  } catch (error) {
    if (!claim || !isStorable(error)) throw error;
    return await steps.onConnection(call, () => storeRefusal(steps.context, claim, error));
  }
}

/** Runs the write in one transaction, and reports the commit. */
async function commit<Resources>(call: Write<Resources>): Promise<ServedResponse> {
  const { implementation, context } = call.steps;
  const events: OutboxRow[] = [];
  const work = (tx: Sql) => runIn(tx, call, context.clock(), events);
  const commitsByItself = call.claim === undefined && implementation.isOneStatement === true;
  const served = commitsByItself
    ? await work(context.sql)
    : await inTransaction(context.sql, work, {
        first: lockChanges(call.account.id),
        last: (tx, served) => outcomeStatements(tx, call, served, events),
      });
  if (!served.isReplay) {
    if (events.length > 0) context.eventsCommitted();
    context.watch.lookSoon();
    implementation.committed?.(context.resources, call.account);
  }
  return served;
}

/** Claims the key and runs the operation. */
async function runIn<Resources>(
  tx: Sql,
  call: Write<Resources>,
  now: Date,
  events: OutboxRow[],
): Promise<ServedResponse> {
  const { steps, claim } = call;
  const known = claim && (await claimKey(tx, claim, steps.context.clocks.real()));
  if (known) return { ...known, isReplay: true };
  const result = await steps.run(call, tx, now, events);
  const { status } = steps.operation;
  return { status, body: status === 204 ? null : JSON.stringify(result), isReplay: false };
}

/** Returns the statements that store the outcome of an operation: its response under the key, and its events. */
function outcomeStatements<Resources>(tx: Sql, call: Write<Resources>, served: ServedResponse, events: OutboxRow[]) {
  if (served.isReplay) return [];
  const response = call.claim && [storeResponse(tx, call.claim, served, call.steps.context.clocks.real())];
  return [...(response ?? []), ...(events.length > 0 ? [writeOutbox(tx, events)] : [])];
}

/** Returns whether a repeated request gets the same refusal: not if it may be retried or its key is wrong. */
function isStorable(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || error.headers['Retry-After']) return false;
  return [400, 404, 409].includes(error.status) && error.field !== 'Idempotency-Key';
}

/** Stores a refusal under its key. If another request stored a response first, returns that one. */
async function storeRefusal<Resources>(
  { sql, clocks }: BindingContext<Resources>,
  claim: IdempotencyClaim,
  refusal: ApiError,
): Promise<ServedResponse> {
  const now = clocks.real();
  const response = { status: refusal.status, body: JSON.stringify(refusal.toBody()), isReplay: false };
  return await inTransaction(sql, async (tx) => {
    const known = await claimKey(tx, claim, now);
    if (known) return { ...known, isReplay: true };
    await storeResponse(tx, claim, response, now);
    return response;
  });
}
