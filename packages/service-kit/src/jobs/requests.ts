import { ApiError, type changeError, type InternalRequest, type RequestsIn } from '@customer-platform/contracts/core';
import type { z } from 'zod';
import type { Bus } from '../bus/bus.ts';
import type { Database } from '../database/database.ts';
import type { Connections } from '../fairness/fair-permits.ts';
import { noAccount } from '../values/no-account.ts';
import { inWorkTransaction, type WorkCall, type WorkContext } from './jobs.ts';

/** Context of an internal request's handler. It reads on `sql` and writes in `change`, one transaction with its events. */
export interface RequestCall<Resources> {
  sql: Database;
  accountId: string;
  resources: Resources;
  /** The instant of the request. */
  now: Date;
  change<Result>(work: (call: WorkCall<Resources>) => Promise<Result>): Promise<Result>;
}

/** An internal request and its handler. */
export interface BoundRequest<Resources, Key = string> {
  request: InternalRequest & { readonly key: Key };
  handle(call: RequestCall<Resources>, input: never): Promise<unknown>;
}

/** The handlers of a contract's internal requests by request key. The type requires all of them and allows no others. */
export type RepliesTo<Contract, Resources = undefined> = {
  [Key in keyof RequestsIn<Contract>]: BoundRequest<Resources, Key>;
};

/** Binds an internal request to its handler. */
export function handleRequest<Request extends InternalRequest, Resources = unknown>(
  request: Request,
  handle: (call: RequestCall<Resources>, input: z.output<Request['input']>) => Promise<z.input<Request['reply']>>,
): BoundRequest<Resources, Request['key']> {
  return { request, handle: handle as BoundRequest<Resources>['handle'] };
}

/** Returns the reply to an operator's change: the number of matches, or the refusal that a customer would get. */
export async function matchedOrRefusal(
  change: () => Promise<{ matched: number }>,
): Promise<{ matched: number; refusal: z.input<typeof changeError> }> {
  try {
    const { matched } = await change();
    return { matched, refusal: null };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code, message, field = null } = error;
    if (code !== 'invalid_request' && code !== 'invalid_state') throw error;
    return { matched: 0, refusal: { code, message, field } };
  }
}

/** Handles requests from the bus, each with one of the connections of its account. */
export function handleRequests<Resources>(
  bus: Bus,
  requests: readonly BoundRequest<Resources>[],
  context: WorkContext<Resources> & { connections: Connections },
): void {
  const { sql, resources, clock, clocks, connections } = context;
  for (const { request, handle } of requests) {
    bus.handle(request, (accountId, input, aheadMs) => {
      const change: RequestCall<Resources>['change'] = (work) => inWorkTransaction(context, work, accountId);
      const handled = () => handle({ sql, accountId, resources, now: clock(), change }, input as never);
      // Operators' requests have no account. Their view of a process must not depend on free connections.
      if (accountId === noAccount) return handled() as never;
      return connections.use(accountId, undefined, () => clocks.by(accountId, handled, aheadMs)) as never;
    });
  }
}
