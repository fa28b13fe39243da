import type { AudienceRules, Condition } from '@customer-platform/contracts/cdp';
import type { AccountContext } from '@customer-platform/contracts/core';
import { dayMs, dayOf, type Sql } from '@customer-platform/service-kit';
import type { ConsentRow } from '../consents/consents.sql.ts';
import type { ContactRow } from '../contacts/contacts.sql.ts';
import { leavesOf } from './rules.ts';

type EventCondition = Extract<Condition, { type: 'event' }>;
type ConsentCondition = Extract<Condition, { type: 'consent' }>;

/** Facts about one contact. */
export interface Facts {
  contact: ContactRow;
  /** Returns the number of events in the condition's window, counted up to `at_least`, and the latest event's time overall. */
  did(condition: EventCondition): { times: number; last_at: Date | null };
  hasTag(tag: string): boolean;
  /** Returns the consent in effect for a channel and a purpose. */
  said(condition: ConsentCondition): Pick<ConsentRow, 'state' | 'at'> | undefined;
  /** Returns the day of an instant in the account's zone, such as 2026-11-01. */
  dayOf(instant: Date): string;
  now: Date;
}

interface DidRow extends Pick<EventCondition, 'name' | 'days' | 'at_least'> {
  times: number;
  last_at: Date | null;
}

/** Reads the facts about a contact that the rules need: two statements, however many conditions there are. */
export async function selectFacts(
  { tx, account, now }: { tx: Sql; account: AccountContext; now: Date },
  contact: ContactRow,
  rules: AudienceRules,
): Promise<Facts> {
  const who = { accountId: account.id, contactId: contact.id };
  const leaves = leavesOf(rules);
  const [done, said] = await Promise.all([selectDone(tx, who, leaves, now), selectSaid(tx, who, leaves)]);
  const tags = new Set(contact.tags);
  return {
    contact,
    hasTag: (tag) => tags.has(tag),
    did: ({ name, days, at_least }) =>
      done.find((row) => row.name === name && row.days === days && row.at_least === at_least) ?? nothing,
    said: ({ channel, purpose }) => said.find((row) => row.channel === channel && row.purpose === purpose),
    dayOf: (instant) => dayOf(instant, account.timezone),
    now,
  };
}

const nothing = { times: 0, last_at: null };

interface Who {
  accountId: string;
  contactId: string;
}

/** Selects only the consents that conditions ask about, since a contact can have one for each purpose ever named. */
async function selectSaid(tx: Sql, { accountId, contactId }: Who, conditions: Condition[]) {
  const asked = conditions.filter((condition) => condition.type === 'consent');
  return await tx<Pick<ConsentRow, 'channel' | 'purpose' | 'state' | 'at'>[]>`
    select channel, purpose, state, at from consent_states
    where account_id = ${accountId} and contact_id = ${contactId} and (channel, purpose) in (
      select * from unnest(${asked.map(({ channel }) => channel)}::text[], ${asked.map(({ purpose }) => purpose)}::text[]))`;
}

async function selectDone(tx: Sql, { accountId, contactId }: Who, conditions: Condition[], now: Date) {
  const asked = conditions.filter((condition) => condition.type === 'event');
  const since = asked.map(({ days }) => (days === null ? null : new Date(now.getTime() - days * dayMs)));
  return await tx<DidRow[]>`
    select asked.name, asked.days, asked.at_least,
      (select count(*)::int from (
        select from contact_events e
        where e.account_id = ${accountId} and e.contact_id = ${contactId} and e.name = asked.name
          and (asked.since is null or e.at > asked.since)
        limit asked.at_least) as counted) as times,
      (select max(e.at) from contact_events e
       where e.account_id = ${accountId} and e.contact_id = ${contactId} and e.name = asked.name) as last_at
    from unnest(${asked.map(({ name }) => name)}::text[], ${asked.map(({ days }) => days)}::integer[],
      ${asked.map(({ at_least }) => at_least)}::integer[],
      ${since.map((instant) => instant?.toISOString() ?? null)}::text[]::timestamptz[]
    ) as asked (name, days, at_least, since)`;
}
