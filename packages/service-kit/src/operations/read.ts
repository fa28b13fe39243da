import type { AccountContext } from '@customer-platform/contracts/core';
import type { Request } from 'express';
import type { Steps } from './call.ts';
import { Prefetch, PrefetchNeeded } from './prefetch.ts';

/** Returns what a read's handler does: its statements run on the pool, without a transaction. Throws what it is refused with. */
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
