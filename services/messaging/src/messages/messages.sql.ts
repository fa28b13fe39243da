import { contactColumns, contactNamed, storedContact } from '@customer-platform/contact-copy';
import type { Channel, Message } from '@customer-platform/contracts/messaging';
import type { Fragment, JsonValue, KeyedRows, Sql, TraceHeaders } from '@customer-platform/service-kit';
import type { AttemptProgress } from './furthest-attempt.ts';
import type { MessageState } from './message-state.ts';

/** A message with its contact (the surviving one if merged) and the progress of its attempts, in order. */
export interface MessageRow extends Omit<MessageState, 'attempts'> {
  account_id: string;
  id: string;
  reference: string | null;
  contact_id: string | null;
  contact_name: string | null;
  contact_phone: string | null;
  given_to: string | null;
  purpose: Message['purpose'];
  send_at: Date | null;
  created_at: Date;
  event_ids: string[];
  trace: TraceHeaders | null;
  attempts: AttemptProgress[];
}

/** Columns of message `m` without its attempts; requires `joinContact`. */
export const messageColumns = (sql: Sql) => sql`
  m.account_id, m.id, m.reference, m.status, m.given_to, m.purpose, m.steps, m.step, m.send_at, m.created_at, m.sent_at,
  m.delivered_at, m.read_at, m.failed_at, m.error_code, m.error_message, m.event_ids, m.trace,
  ${contactColumns(sql)}`;

/** Selects the progress of the attempts of message `m` as a JSON array. */
export const progressOfAttempts = (sql: Sql) => sql`(
  select jsonb_agg(jsonb_build_object('number', a.number, 'status', a.status, 'reason', a.reason, 'address', a.address) order by a.number)
  from attempts a where a.account_id = m.account_id and a.message_id = m.id)`;

/** The stored part of a new message. */
export type NewMessage = Pick<MessageRow, 'account_id' | 'reference' | 'given_to' | 'purpose' | 'steps' | 'send_at'> & {
  contact_id: string | null;
  is_simulated: boolean;
  /** When what the message announces begins: nothing is sent from then on. Null if it never expires. */
  useful_until: Date | null;
  /** If true, the message is accepted only if all its channels are set up. */
  needs_channels: boolean;
  key: string | null;
  trace: TraceHeaders | null;
};

/**
 * Inserts messages with their first attempts in one statement, due now or waiting for `send_at`. Skips a message whose key the account already has.
 * Also skips one with `needs_channels` and a step on a channel that is not set up. Returns the first address of each.
 */
export async function insertMessages(
  tx: Sql,
  messages: readonly NewMessage[],
  now: Date,
): Promise<{ id: string; key: string | null; address: string }[]> {
  return await tx<{ id: string; key: string | null; address: string }[]>`
    with given as (
      select * from jsonb_to_recordset(${tx.json(messages as unknown as JsonValue)}) as given (
        account_id uuid, reference text, contact_id uuid, given_to text, purpose text, steps jsonb, is_simulated boolean,
        useful_until timestamptz, needs_channels boolean, send_at timestamptz, key uuid, trace jsonb)
    ), stored as (
      insert into messages (account_id, reference, status, contact_id, given_to, purpose, steps, is_simulated, useful_until, send_at, created_at, key, trace)
      select account_id, reference, case when send_at is null then 'queued' else 'scheduled' end,
        ${storedContact(tx, tx`given.account_id`, tx`given.contact_id`)}, given_to, purpose, steps, is_simulated, useful_until, send_at, ${now}, key, trace
      from given
      where not needs_channels or not exists (
        select from jsonb_array_elements(steps) as step
        where not exists (select from channels c where c.account_id = given.account_id and c.channel = step ->> 'channel'))
      on conflict (account_id, key) where key is not null do nothing
      returning account_id, id, key, contact_id, given_to, steps -> 0 ->> 'channel' as channel, send_at
    ), begun as (
      insert into attempts (account_id, message_id, number, channel, address, status, due_at)
      select s.account_id, s.id, 1, s.channel, coalesce(s.given_to, case when s.channel <> 'email' then (
          select phone from (${contactNamed(tx, tx`s.account_id`, tx`s.contact_id`)}) as contact) end, ''),
        'queued', case when s.send_at is null then ${now}::timestamptz end
      from stored s returning message_id, address
    )
    select s.id, s.key, b.address from stored s join begun b on b.message_id = s.id`;
}

/** Returns the id of the message that another service stored under a key. */
export async function selectIdByKey(sql: Sql, accountId: string, key: string): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`select id from messages where account_id = ${accountId} and key = ${key}`;
  return row?.id;
}

/** Messages that wait for their `send_at`. */
export const scheduledMessages: KeyedRows = {
  name: 'messages',
  key: { account_id: 'uuid', id: 'uuid' },
  due: 'send_at',
  where: (sql) => sql`status = 'scheduled'`,
};

/** Releases the messages that `due` selects and locks; returns their accounts. */
export async function releaseScheduled(tx: Sql, due: Fragment) {
  return await tx<{ account_id: string }[]>`
    with ready as (${due}), released as (
      update messages m set status = 'queued' from ready
      where m.account_id = ready.account_id and m.id = ready.id and m.status = 'scheduled'
      returning m.account_id, m.id, m.send_at
    )
    update attempts a set due_at = released.send_at from released
    where a.account_id = released.account_id and a.message_id = released.id and a.number = 1
    returning a.account_id`;
}

/** Returns where replies to an inbound message go; undefined if the account has no such message. */
export async function selectReplyAddress(
  sql: Sql,
  accountId: string,
  id: string,
): Promise<{ channel: Channel; address: string } | undefined> {
  const [row] = await sql<{ channel: Channel; address: string }[]>`
    select channel, coalesce(nullif(address, ''), sender) as address from inbound_messages
    where account_id = ${accountId} and id = ${id}`;
  return row;
}
