import type { Endpoint } from '@customer-platform/contracts/webhooks';
import { countSerially, isInScope, type Scope, type Sql } from '@customer-platform/service-kit';
import type { PreviousSecret } from '../sending/read-queues.sql.ts';

export interface EndpointRow extends Omit<Endpoint, 'created_at' | 'updated_at'> {
  created_at: Date;
  updated_at: Date;
}

/** Values that customers set. */
export type EndpointValues = Pick<EndpointRow, 'url' | 'description' | 'events' | 'active' | 'paused'>;

const columns = (sql: Sql) =>
  sql`id, url, description, events, active, disabled_reason, paused, created_at, updated_at`;

/** Counts an account's endpoints and queues and creates an id. Blocks other registrations of the account until the transaction ends. */
export async function prepareEndpoint(tx: Sql, accountId: string) {
  const [count, [next]] = await Promise.all([
    countSerially(tx, `endpoints ${accountId}`, tx`endpoints where account_id = ${accountId}`),
    tx<{ id: string; queues: number }[]>`
      select uuidv7() as id, (select count(*)::int from queues where account_id = ${accountId}) as queues`,
  ]);
  return { count, ...next! };
}

/** Inserts an endpoint with the given id, to which its secret is bound. */
export async function insertEndpoint(
  tx: Sql,
  accountId: string,
  endpoint: Omit<EndpointValues, 'paused'> & { id: string; secret: Buffer },
  now: Date,
) {
  const [row] = await tx<EndpointRow[]>`
    insert into endpoints ${tx({ account_id: accountId, ...endpoint, created_at: now, updated_at: now })}
    returning ${columns(tx)}`;
  return row!;
}

/** Reads an endpoint; `lock` locks its row until the transaction ends. */
export async function findEndpoint(sql: Sql, accountId: string, id: string, lock: 'lock' | 'read' = 'read') {
  const [row] = await sql<EndpointRow[]>`
    select ${columns(sql)} from endpoints where account_id = ${accountId} and id = ${id}
    ${lock === 'lock' ? sql`for update` : sql``}`;
  return row;
}

/** Reads endpoints after the cursor, newest first. */
export async function selectEndpoints(sql: Sql, accountId: string, after: string | undefined, limit: number) {
  return await sql<EndpointRow[]>`
    select ${columns(sql)} from endpoints
    where account_id = ${accountId} ${after === undefined ? sql`` : sql`and id < ${after}`}
    order by id desc limit ${limit}`;
}

/** Updates the values that customers set. Changing `active` clears the platform's disabled reason. */
export async function updateEndpointRow(
  tx: Sql,
  accountId: string,
  { id, ...values }: EndpointValues & { id: string },
  now: Date,
) {
  const [row] = await tx<EndpointRow[]>`
    update endpoints e set url = ${values.url}, description = ${values.description}, events = ${values.events}::text[],
      active = ${values.active}, paused = ${values.paused}, updated_at = ${now},
      disabled_reason = case when e.active = ${values.active} then e.disabled_reason end,
      -- A pause must not count toward the five days of failures, so resuming clears the time.
      failing_since = case when e.active = ${values.active} and e.url = ${values.url} and not (e.paused and not ${values.paused}::boolean)
        then e.failing_since end
    where account_id = ${accountId} and id = ${id}
    returning ${columns(tx)}`;
  return row!;
}

export async function deleteEndpointRow(tx: Sql, accountId: string, id: string) {
  await tx`delete from endpoints where account_id = ${accountId} and id = ${id}`;
}

/** Reads the secrets of an endpoint that this transaction has locked. */
export async function readSecrets(tx: Sql, accountId: string, id: string) {
  const [row] = await tx<{ secret: Uint8Array; previous_secrets: PreviousSecret[] }[]>`
    select secret, previous_secrets from endpoints where account_id = ${accountId} and id = ${id}`;
  return row!;
}

/** Stores the new secret and the previous ones that keep signing for a while. */
export async function replaceSecret(
  tx: Sql,
  accountId: string,
  { id, secret, previous }: { id: string; secret: Buffer; previous: PreviousSecret[] },
  now: Date,
) {
  await tx`
    update endpoints set secret = ${secret}, previous_secrets = ${tx.json(previous)}, updated_at = ${now}
    where account_id = ${accountId} and id = ${id}`;
}

/** An endpoint as it was when the platform disabled it, not yet announced. */
type Announcement = EndpointRow & { account_id: string; announcement: string; disabled_reason: string };

/** Reads at most `limit` announcements, oldest first, and locks them until the transaction ends. */
export async function lockAnnouncements(tx: Sql, scope: Scope, limit: number) {
  return await tx<Announcement[]>`
    select account_id, id as announcement, endpoint_id as id, url, description, events, false as active, disabled_reason,
      paused, created_at, updated_at
    from announcements where true ${isInScope(tx, scope)} order by announcements.id limit ${limit} for update skip locked`;
}

/** Deletes published announcements. */
export async function deleteAnnouncements(tx: Sql, announcements: string[]) {
  await tx`delete from announcements where id = any(${announcements}::uuid[])`;
}
