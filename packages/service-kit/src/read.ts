import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import type { Request } from 'express';
import type { RequestCall, ServedResponse, Steps } from './call.ts';
import { type Database, isStatementTimeout } from './database.ts';
import { ClientGone } from './fair-permits.ts';
import type { Ask } from './operation.ts';
import { Prefetch, PrefetchNeeded } from './prefetch.ts';
import type { StreamSource } from './streams/streams.ts';

/** Serves one read: its statements run on the pool, without a transaction. Throws what it is refused with. */
export async function read<Resources>(
  steps: Steps<Resources>,
  request: Request,
  account: AccountContext,
): Promise<ServedResponse> {
  return { kind: 'done', status: steps.operation.status, body: JSON.stringify(await result(steps, request, account)) };
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
  const { sql, standby } = steps.context;
  const body = await steps.bodyOf(request, account);
  const onStandby = steps.isList ? standby?.current : undefined;
  if (onStandby) {
    try {
      return await resultOn(onStandby, steps, { request, account, body });
    } catch (error) {
      if (!mayBeStandbys(error)) throw error;
    }
  }
  return await resultOn(sql, steps, { request, account, body });
}

/**
 * Returns whether a list may fail by its standby alone, which lacks what it is of, or has gone: the primary decides then. Not what took as long as a
 * statement may, nor what found no place in this process: it would wait twice.
 */
function mayBeStandbys(error: unknown): boolean {
  const isBusy = error instanceof ApiError && (error.status === 429 || error.status === 503);
  return !(isBusy || error instanceof ClientGone || isStatementTimeout(error));
}

async function resultOn<Resources>(
  sql: Database,
  steps: Steps<Resources>,
  from: Pick<RequestCall, 'request' | 'account' | 'body'>,
): Promise<unknown> {
  const { clock, askFor } = steps.context;
  const call = { ...from, prefetch: new Prefetch() };
  const askNow = askFor(call.account);
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
      await error.work(steps.prefetchCall(call, sql));
    }
  }
}
