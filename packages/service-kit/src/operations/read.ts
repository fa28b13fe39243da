import type { AccountContext } from '@customer-platform/contracts/core';
import type { Request } from 'express';
import type { StreamSource } from '../http/streams/streams.ts';
import type { ServedResponse, Steps } from './call.ts';
import type { Ask } from './operation.ts';
import { Prefetch, PrefetchNeeded } from './prefetch.ts';

/** Serves one read: its statements run on the pool, without a transaction. Throws what it is refused with. */
export async function read<Resources>(
  steps: Steps<Resources>,
  request: Request,
  account: AccountContext,
): Promise<ServedResponse> {
  const value = await result(steps, request, account);
  return { kind: 'done', status: steps.operation.status, body: JSON.stringify(value) };
}

/** Opens the stream that a read asks for: its statements until then run as those of a read. Throws what it is refused with. */
export async function openStream<Resources>(
  steps: Steps<Resources>,
  request: Request,
  account: AccountContext,
): Promise<StreamSource> {
  return (await result(steps, request, account)) as StreamSource;
}

async function result<Resources>(steps: Steps<Resources>, request: Request, account: AccountContext): Promise<unknown> {
  const { clock, askFor, sql } = steps.context;
  const call = { request, account, body: steps.bodyOf(request), prefetch: new Prefetch() };
  const askNow = askFor(account);
  const run = () =>
    steps.onConnection(call, ({ without }) => {
      const ask: Ask = (asked, input) => without(() => askNow(asked, input));
      return steps.run({ ...call, ask }, sql, clock(), []);
    });
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof PrefetchNeeded)) throw error;
      await error.work(steps.prefetchCall(call));
    }
  }
}
