import type { AccountContext } from '@customer-platform/contracts/core';
import type { Request } from 'express';
import type { ServedResponse, Steps } from './call.ts';
import { Prefetch, PrefetchNeeded } from './prefetch.ts';

/** Serves one read: its statements run on the pool, without a transaction. Throws what it is refused with. */
export async function read<Resources>(
  steps: Steps<Resources>,
  request: Request,
  account: AccountContext,
): Promise<ServedResponse> {
  const { sql, clock } = steps.context;
  const call = { request, account, prefetch: new Prefetch() };
  const run = () => steps.onConnection(call, () => steps.run(call, sql, clock(), []));
  let result: unknown;
  try {
    result = await run();
  } catch (error) {
    if (!(error instanceof PrefetchNeeded)) throw error;
    await error.work(steps.prefetchCall(account));
    result = await run();
  }
  return { kind: 'done', status: steps.operation.status, body: JSON.stringify(result) };
}
