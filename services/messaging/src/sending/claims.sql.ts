import { joinContact } from '@customer-platform/contact-copy';
import type { Channel, MessageStep } from '@customer-platform/contracts/messaging';
import {
  type Claim,
  type Database,
  type DueRow,
  type DueTable,
  type Fragment,
  isInScope,
  type KeyedRows,
  type Scope,
  type Sql,
} from '@customer-platform/service-kit';
import type { MessageRef } from '../messages/attempts.sql.ts';
import type { Try } from '../messages/message-state.ts';

/** The queue of attempts. An attempt is due when its provider may be called. */
export const dueAttempts: DueTable = {
  name: 'attempts',
  key: { account_id: 'uuid', message_id: 'uuid', number: 'smallint' },
  hasChannels: true,
  due: 'due_at',
  attempts: 'tries',
  error: 'reason',
  failed: (sql) => sql`tries > 0`,
};

/** A claimed provider call. It is stored as running before the call begins, unless it is held. */
export interface DueAttempt extends DueRow, MessageRef {
  number: number;
  running_since: Date;
  /** The channel is failing: the attempt waits for its recovery, and no call begins. */
  is_held: boolean;
  /** The channel is failing, and the attempt was held for the maximum time. */
  is_hold_over: boolean;
  /** What the message announces has already begun. */
  is_too_late: boolean;
  channel_failing_since: Date | null;
  channel_updated_at: Date;
  attempt_id: string;
  channel: Channel;
  step: MessageStep;
  purpose: string;
  contact_id: string | null;
  /** The recipient's address if this service knows it. "" if customer data must be asked or the contact was deleted. */
  address: string;
  is_simulated: boolean;
  /** When the recipient last wrote on WhatsApp; null on other channels. */
  wrote_at: Date | null;
  /** Null if the channel is not set up. */
  provider: string | null;
  settings: Buffer | null;
  token: string | null;
}

/** Selects `shown` of the sender who last wrote on the step's channel of message `m`, among those matching `condition`. */
const newestSender = (sql: Sql, condition: Fragment, shown: Fragment) => sql`
  select ${shown} from senders s where s.account_id = m.account_id and s.channel = m.step ->> 'channel' and ${condition}
  order by s.wrote_at desc limit 1`;

/** Matches senders that are the message's contact or one merged into it. */
const isOfContact = (sql: Sql) => sql`s.contact_id = any(array(
  select coalesce(survivor.id, c.id) union all
  select merged.id from contacts merged where merged.account_id = m.account_id and merged.merged_into = coalesce(survivor.id, c.id)))`;

/**
 * Begins the attempts that `due` selects, except those whose message is locked. On a failing channel they are held for
 * `holdMs` in total. A held attempt that is due probes the channel.
 */
export async function beginAttempts(sql: Database, { due, now }: Claim, holdMs: number): Promise<DueAttempt[]> {
  return await sql<DueAttempt[]>`
    with due as (${due}), picked as (
      select due.*, a.id as attempt_id, a.channel, a.held_until, coalesce(a.held_since, ${now}) + ${holdMs} * interval '1 ms' as hold_ends, m.contact_id, m.given_to, m.purpose, m.steps -> (due.number - 1) as step, m.is_simulated, m.trace,
        coalesce(m.useful_until <= ${now}, false) as is_too_late
      -- A lateral lookup always uses the primary key, even if statistics still describe an empty table.
      from due cross join lateral (
        select * from messages where account_id = due.account_id and id = due.message_id for update skip locked) as m
      join attempts a on a.account_id = due.account_id and a.message_id = due.message_id and a.number = due.number
    ), addressed as (
      select m.*, ch.provider, ch.settings, ch.token, ch.failing_since, ch.updated_at as channel_updated_at,
        failing.failing_since is not null and m.held_until is null and m.hold_ends > ${now} as is_held,
        failing.failing_since is not null and m.hold_ends <= ${now} as is_hold_over, coalesce(survivor.id, c.id) as survivor_id,
        case when coalesce(survivor.deleted, c.deleted) then ''
          else coalesce(m.given_to, case when m.step ->> 'channel' <> 'email' then coalesce(
            nullif(coalesce(survivor.phone, c.phone), ''), (${newestSender(sql, isOfContact(sql), sql`s.address`)})) end, '')
        end as to_address, case when m.step ->> 'channel' = 'whatsapp' then greatest(
          (${newestSender(sql, isOfContact(sql), sql`s.wrote_at`)}),
          (${newestSender(sql, sql`s.address = coalesce(m.given_to, survivor.phone, c.phone)`, sql`s.wrote_at`)})) end as wrote_at
      from picked m ${joinContact(sql, 'm')}
      left join channels ch on ch.account_id = m.account_id and ch.channel = m.step ->> 'channel' and not m.is_simulated
      -- The lock rereads a changed channel: once it is ready, no attempt is held.
      left join lateral (
        select failing_since from channels where ch.failing_since is not null and account_id = ch.account_id and channel = ch.channel
          and failing_since is not null for share) as failing on true
    ), held as (
      update attempts a set due_at = d.hold_ends, held_until = d.hold_ends, held_since = coalesce(a.held_since, ${now}) from addressed d
      where d.is_held and a.account_id = d.account_id and a.message_id = d.message_id and a.number = d.number
    ), waiting as (
      update messages m set status = 'queued' from addressed d
      where d.is_held and m.account_id = d.account_id and m.id = d.message_id and m.status = 'sending' and not exists (
        select from attempts a where a.account_id = d.account_id and a.message_id = d.message_id and a.status not in ('queued', 'skipped'))
    ), begun as (
      update attempts a set due_at = null, running_since = ${now}, tries = a.tries + 1, status = 'sending',
        -- The time for retries begins with the first counted call; postponed ones are not counted.
        started_at = case when a.tries = 0 then ${now} else coalesce(a.started_at, ${now}) end, address = d.to_address,
        provider = case when d.is_simulated then 'simulated' else coalesce(d.provider, '') end
      from addressed d where not d.is_held and a.account_id = d.account_id and a.message_id = d.message_id and a.number = d.number
      returning a.account_id, a.message_id, a.number, a.tries, a.running_since
    ), shown as (
      update messages m set status = 'sending' from begun b
      where m.account_id = b.account_id and m.id = b.message_id and m.status in ('queued', 'scheduled')
    )
    select d.account_id, d.message_id, d.number, d.attempt_id, d.channel, coalesce(b.tries, 0) as attempts, b.running_since,
      d.to_address as address, d.step, d.purpose, coalesce(d.survivor_id, d.contact_id) as contact_id, d.is_simulated, d.is_held, d.is_hold_over, d.is_too_late,
      d.failing_since as channel_failing_since, d.channel_updated_at, d.provider, d.settings, d.token, d.wrote_at, d.trace
    from addressed d left join begun b using (account_id, message_id, number)`;
}

/** Provider calls in progress. */
export const runningTries = {
  name: dueAttempts.name,
  due: 'running_since',
  where: (sql: Sql) => sql`running_since is not null`,
};

/** Returns calls that began before `before` without a stored result: their process died or cannot write. */
export async function selectLostTries(
  tx: Sql,
  scope: Scope,
  before: Date,
  limit: number,
): Promise<(MessageRef & Try)[]> {
  return await tx<(MessageRef & Try)[]>`
    select account_id, message_id, number, running_since from attempts where running_since < ${before} ${isInScope(tx, scope)}
    order by running_since limit ${limit}`;
}

/** Attempts by the end of their wait for a receipt. */
export const dueFallbacks: KeyedRows = {
  name: dueAttempts.name,
  key: dueAttempts.key,
  due: 'falls_back_at',
  isUnlocked: true,
};

export type DueFallback = MessageRef & { number: number };

/** Returns at most `limit` accounts with waiting attempts, due or not, by id. Skips from account to account in the index. */
export async function selectAccountsWithTries(tx: Sql, limit: number): Promise<string[]> {
  const rows = await tx<{ account_id: string }[]>`
    with recursive accounts as (
      (select account_id, 1 as place from attempts where due_at is not null order by account_id limit 1)
      union all
      select next.account_id, a.place + 1 from accounts a cross join lateral (
        select account_id from attempts where due_at is not null and account_id > a.account_id order by account_id limit 1) as next
      where a.place < ${limit}
    )
    select account_id from accounts`;
  return rows.map(({ account_id }) => account_id);
}

/** Returns at most `limit` messages of these accounts with a waiting attempt, due or not. */
export async function selectWaitingTries(tx: Sql, accountIds: readonly string[], limit: number): Promise<MessageRef[]> {
  return await tx<MessageRef[]>`
    select account_id, message_id from attempts where account_id = any(${[...accountIds]}::uuid[]) and due_at is not null limit ${limit}`;
}
