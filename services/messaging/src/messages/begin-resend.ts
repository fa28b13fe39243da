import { ApiError } from '@customer-platform/contracts/core';
import { dayMs, type Sql } from '@customer-platform/service-kit';
import { countMatched, countRunning, insertResend } from './resends.sql.ts';

const mostDays = 7;
/** Maximum number of running requests per account. */
const maxRunning = 10;

/** The messages of a request: those that failed in a period, optionally with one error code. */
interface Asked {
  since: Date;
  until: Date | undefined;
  code: string | undefined;
}

/**
 * Begins to resend an account's failed messages, each at most once, and returns how many. Throws 400 if the period is
 * invalid or began more than seven days ago, and 409 if ten requests are running.
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
  // Messages that fail from now on are excluded; otherwise the request would never end.
  const period = {
    account_id: accountId,
    since,
    until: until !== undefined && until < now ? until : now,
    code: code ?? null,
  };
  const matched = await countMatched(tx, period);
  if (matched === 0) return { matched };
  if ((await countRunning(tx, accountId)) >= maxRunning) {
    const message = `${maxRunning} requests to resend messages are running; wait until one has completed`;
    throw new ApiError('invalid_state', message);
  }
  await insertResend(tx, period, now);
  return { matched };
}

function invalid(field: string, message: string): ApiError {
  return new ApiError('invalid_request', message, { field });
}
