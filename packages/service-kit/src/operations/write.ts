import { hash } from 'node:crypto';
import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import type { Request } from 'express';
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
  type KeyWaiters,
  type KnownKey,
  storeResponse,
} from './idempotency.ts';

/** Attempts per write after deadlocks or serialization failures. */
const maxAttempts = 3;

/** Longest path that a stored response is found by as it is: an index has no room for any longer one. */
const longestPath = 1_000;

/** Outcome of one attempt. */
type Outcome =
  | ServedResponse
  | KnownKey
  /** The handler needs `work` done first. */
  | { kind: 'prefetch'; work: PrefetchNeeded['work'] }
  /** PostgreSQL rolled the attempt back for another transaction. */
  | { kind: 'retry'; error: unknown };

/** One write, from its first attempt to its last. */
interface Write<Resources> extends RequestCall {
  steps: Steps<Resources>;
  claim: IdempotencyClaim | undefined;
}

/** Serves one write: each attempt is one transaction. Throws what it is refused with. */
export async function write<Resources>(
  steps: Steps<Resources>,
  request: Request,
  account: AccountContext,
): Promise<ServedResponse> {
  const claim = claimOf(steps, request, account);
  const call = { steps, request, account, prefetch: new Prefetch(), claim };
  let rollbacks = 0;
  let work: PrefetchNeeded['work'] | undefined;
  let pauses: ReturnType<KeyWaiters['pauses']> | undefined;
  try {
    for (;;) {
      const outcome = await attempt(call, work);
      work = undefined;
      switch (outcome.kind) {
        case 'retry':
          if (++rollbacks === maxAttempts) throw outcome.error;
          break;
        case 'prefetch':
          work = outcome.work;
          break;
        case 'running':
          pauses ??= steps.waiters.pauses(account.id);
          await pauses.next();
          break;
        default:
          return outcome;
      }
    }
  } finally {
    if (pauses) await pauses.return();
  }
}

/** The claim of the request's key, if it has one; a PUT is idempotent without. Throws invalid_request for a key that is none. */
function claimOf<Resources>({ operation, context }: Steps<Resources>, request: Request, account: AccountContext) {
  const { method } = request;
  const path = request.path.length > longestPath ? hash('sha256', request.path) : request.path;
  const key = method === 'PUT' ? undefined : idempotencyKey(request.header('idempotency-key'));
  if (key === undefined) return undefined;
  const seal = operation.respondsWithSecret ? context.seal : undefined;
  return { accountId: account.id, method, path, key, fingerprint: bodyFingerprint(request), seal };
}

/** Makes one attempt, after the prefetch that the one before asked for. Throws a refusal that is not stored under the key. */
async function attempt<Resources>(call: Write<Resources>, work?: PrefetchNeeded['work']): Promise<Outcome> {
  const { steps, claim } = call;
  try {
    if (work) await work(steps.prefetchCall(call));
    return await steps.onConnection(call, () => commit(call));
  } catch (error) {
    if (error instanceof PrefetchNeeded) return { kind: 'prefetch', work: error.work };
    if (error instanceof StoredElsewhere) return { kind: 'running' };
    if (isTransactionConflict(error)) return { kind: 'retry', error };
    if (claim && isRepeated(error))
      return await steps.onConnection(call, () => storeRefusal(steps.context, claim, error));
    throw error;
  }
}

/** Does the write in one transaction, and says so where it committed. */
async function commit<Resources>(call: Write<Resources>): Promise<Outcome> {
  const { implementation, context } = call.steps;
  const now = context.clock();
  const events: OutboxRow[] = [];
  const work = (tx: Sql) => runIn(tx, call, now, events);
  const commitsByItself = call.claim === undefined && implementation.isOneStatement === true;
  const outcome = commitsByItself ? await work(context.sql) : await inTransaction(context.sql, work);
  if (outcome.kind === 'done') {
    if (events.length > 0) context.eventsCommitted();
    context.watch.lookSoon();
    implementation.committed?.(context.resources, call.account);
  }
  return outcome;
}

/** Claims the key, runs the operation and stores what it comes to. Throws StoredElsewhere where another transaction was first. */
async function runIn<Resources>(tx: Sql, call: Write<Resources>, now: Date, events: OutboxRow[]): Promise<Outcome> {
  const { steps, claim } = call;
  const real = steps.context.clocks.real();
  const known = claim && (await claimKey(tx, claim, real));
  if (known) return known;
  const result = await steps.run(call, tx, now, events);
  const { status } = steps.operation;
  const response: ServedResponse = { kind: 'done', status, body: status === 204 ? null : JSON.stringify(result) };
  const [isStored] = await Promise.all([
    claim ? storeResponse(tx, claim, response, real) : true,
    writeOutbox(tx, events),
  ]);
  if (!isStored) throw new StoredElsewhere();
  return response;
}

/** Another transaction stored a response under the key first: this one is rolled back and that one replayed. */
class StoredElsewhere extends Error {}

/** Returns whether the same request gets the same refusal: not where it may be sent again, or its key is at fault. */
function isRepeated(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || error.headers['Retry-After']) return false;
  return [400, 404, 409].includes(error.status) && error.field !== 'Idempotency-Key';
}

/** Stores a refusal under its key; another's stored response wins. */
async function storeRefusal<Resources>(
  { sql, clocks }: BindingContext<Resources>,
  claim: IdempotencyClaim,
  refusal: ApiError,
): Promise<Outcome> {
  const now = clocks.real();
  const response: ServedResponse = { kind: 'done', status: refusal.status, body: JSON.stringify(refusal.toBody()) };
  return await inTransaction(sql, async (tx) => {
    const known = await claimKey(tx, claim, now);
    if (known) return known;
    return (await storeResponse(tx, claim, response, now)) ? response : { kind: 'running' };
  });
}
