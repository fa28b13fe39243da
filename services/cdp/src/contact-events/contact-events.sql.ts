import type { JsonValue, Sql } from '@customer-platform/service-kit';
import { markChanged } from '../contacts/changed-contacts.sql.ts';
import { oldestByExternalId } from '../contacts/contacts.sql.ts';

interface EventValues {
  id: string;
  name: string;
  at: Date;
  properties: Record<string, unknown>;
}

/** An event as sent: for a contact's id, or for the oldest contact with an external id. */
export interface GivenEvent extends EventValues {
  contact: string | undefined;
  external_id: string | undefined;
}

const valuesOf = (sql: Sql, events: readonly EventValues[]) => sql`
  ${events.map(({ id }) => id)}::text[], ${events.map(({ name }) => name)}::text[],
  ${events.map(({ at }) => at.toISOString())}::text[]::timestamptz[],
  ${events.map(({ properties }) => JSON.stringify(properties as JsonValue))}::text[]::jsonb[]`;

/** End of a statement whose `resolved` assigns events to contacts. Inserts in id order, so that batches do not deadlock. */
const record = (sql: Sql) => sql`
  recorded as (
    insert into contact_events (account_id, id, contact_id, name, at, properties, original_contact_id)
    select account_id, id, contact_id, name, at, properties, original_contact_id from resolved where contact_id is not null
    order by account_id, id, position
    on conflict do nothing returning account_id, contact_id, name
  ), marked as (${markChanged(
    sql,
    // Only events that rules ask about: otherwise entering an audience would itself cause a re-evaluation. `offset 0` forces a lookup by name: a
    // generic plan without statistics of the account would join all names of the account with each event.
    sql`select account_id, contact_id from recorded where exists (
      select from audience_event_names asked where asked.account_id = recorded.account_id and asked.name = recorded.name
      offset 0)`,
  )})`;

/**
 * Records events of an account's contacts in one statement. Ids already recorded are skipped. Returns the number recorded, and the indexes in
 * `events` whose contact does not exist.
 */
export async function insertEvents(tx: Sql, accountId: string, events: readonly GivenEvent[]) {
  const [row] = await tx<{ recorded: number; unknown: number[] }[]>`
    with resolved as materialized (
      select ${accountId}::uuid as account_id, given.*, coalesce(
        (select coalesce(c.merged_into, c.id) from contacts c where c.account_id = ${accountId} and c.id = given.contact),
        ${oldestByExternalId(tx, tx`${accountId}`, tx`given.external_id`)}) as contact_id, null::uuid as original_contact_id
      from unnest(${valuesOf(tx, events)}, ${events.map(({ contact }) => contact ?? null)}::uuid[],
        ${events.map(({ external_id }) => external_id ?? null)}::text[]
      ) with ordinality as given (id, name, at, properties, contact, external_id, position)
    ), ${record(tx)}
    select (select count(*) from recorded)::int as recorded,
      array(select position::int - 1 from resolved where contact_id is null order by position) as unknown`;
  return row!;
}

/** One of the platform's own events about a contact, which it names by id or by number. */
export interface DomainEvent extends EventValues {
  account: string;
  contact: string | number;
}

/**
 * Records the platform's events about existing contacts in one statement. A late event from before its contact was merged is recorded like those that
 * the merge moved.
 */
export async function insertDomainEvents(tx: Sql, events: readonly DomainEvent[]) {
  const ids = events.map(({ contact }) => (typeof contact === 'string' ? contact : null));
  const numbers = events.map(({ contact }) => (typeof contact === 'number' ? contact : null));
  await tx`
    with resolved as materialized (
      select given.*, coalesce(named.merged_into, named.id) as contact_id,
        case when given.at < named.merged_at then named.id end as original_contact_id
      from unnest(${events.map(({ account }) => account)}::uuid[], ${valuesOf(tx, events)}, ${ids}::uuid[],
        ${numbers}::bigint[]
      ) with ordinality as given (account_id, id, name, at, properties, contact, contact_number, position)
      left join lateral (
        (select c.id, c.merged_into, c.merged_at from contacts c where c.account_id = given.account_id and c.id = given.contact)
        union all
        (select c.id, c.merged_into, c.merged_at from contacts c
         where c.account_id = given.account_id and c.number = given.contact_number)
        limit 1
      ) as named on true
    ), ${record(tx)}
    select 1`;
}
