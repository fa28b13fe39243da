import { ApiError } from '@customer-platform/contracts/core';
import { dayMs, type Sql } from '@customer-platform/service-kit';
import { countMatched, countRunning, insertResend } from './resends.sql.ts';

const mostDays = 7;
/** Requests of an account that run at once. */
const maxRunning = 10;

/** The messages that are asked for: those that failed in a period, or of them those with a code. */
interface Asked {
  since: Date;
  until: Date | undefined;
  code: string | undefined;
}

/**
 * Begins to send failed messages of an account again, each at most once; returns how many. Throws 400 for a period that is none or too long ago, and 409 where
 * too many requests are running.
 */
export async function beginResend(
  { tx, now }: { tx: Sql; now: Date },
  accountId: string,
  { since, until, code }: Asked,
): Promise<{ matched: number }> {
  if (since >= now) throw invalid('since', 'since must be in the past');
  if (since.getTime() < now.getTime() - mostDays * dayMs)
    throw invalid('since', `since must be at most ${mostDays} days ago`);
  if (until !== undefined && until <= since) throw invalid('until', 'until must be later than since');
  // What fails from now on is no part of it, or it would never end.
  const period = {
    account_id: accountId,
    since,
    until: until !== undefined && until < now ? until : now,
    code: code ?? null,
  };
  const matched = await countMatched(tx, period);
  if (matched === 0) return { matched };
  if ((await countRunning(tx, accountId)) >= maxRunning) {
    const message = `${maxRunning} requests to send messages again are running; wait until one is through`;
    throw new ApiError('invalid_state', message);
  }
  await insertResend(tx, period, now);
  return { matched };
}

function invalid(field: string, message: string): ApiError {
  return new ApiError('invalid_request', message, { field });
}
