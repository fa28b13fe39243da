import type { Channel } from '@customer-platform/contracts/messaging';
import type { Sql } from '@customer-platform/service-kit';

/** Maximum number of failed messages grouped per account, newest first. */
const mostGrouped = 10_000;
const mostGroups = 100;

/** Failed messages of an account with the same error code, on the channel of the last attempt. */
interface FailedGroup {
  channel: Channel;
  code: string;
  count: number;
  last_at: Date;
  last_error: string;
}

/** Condition for messages that failed or were refused and were not resent. A literal, so that PostgreSQL can use the partial indexes. */
const isFailed = (sql: Sql) => sql`status in ('failed', 'refused') and resent_at is null`;

/** Groups the messages of an account that failed since a time by channel and error code, largest group first. */
export async function groupFailed(sql: Sql, accountId: string, since: Date): Promise<FailedGroup[]> {
  return await sql<FailedGroup[]>`
    select channel, code, count(*)::int as count, max(failed_at) as last_at, (array_agg(error_message order by failed_at desc))[1] as last_error
    from (
      select steps -> step ->> 'channel' as channel, coalesce(error_code, '') as code, failed_at, coalesce(error_message, '') as error_message
      from messages where account_id = ${accountId} and ${isFailed(sql)} and failed_at >= ${since}
      order by failed_at desc limit ${mostGrouped}
    ) as failed
    group by channel, code order by count desc, channel, code limit ${mostGroups}`;
}

/** Returns the accounts with more than `more` such messages since a time: live accounts first, then by number. */
export async function accountsWithFailed(
  sql: Sql,
  { since, more, limit }: { since: Date; more: number; limit: number },
): Promise<{ account: string; failed: number }[]> {
  return await sql<{ account: string; failed: number }[]>`
    select account_id as account, count(*)::int as failed from messages
    where ${isFailed(sql)} and failed_at >= ${since}
    group by account_id having count(*) > ${more} order by bool_and(is_simulated), count(*) desc, account_id limit ${limit}`;
}
