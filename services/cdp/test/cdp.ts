import { type Database, inTransaction, type Sql } from '@customer-platform/service-kit';
import { type Platform, type TestAccount, waitFor } from '@customer-platform/testkit';

/** Returns the expected shape of an error with this status, and field if given. */
export const refusal = (status: number, field?: string) => ({ status, ...(field ? { field } : {}) });

/** Requests a duplicate run and waits until it has ended. */
export async function lookForDuplicates(platform: Platform, sql: Database, account: TestAccount): Promise<void> {
  await account.client.cdp.duplicates.find({ body: {} });
  await waitFor('the run', async () => {
    const [run] = await sql`
      select due_at > ${platform.clock.now()} and due_at is distinct from rests_until as has_run
      from duplicate_runs where account_id = ${account.id}`;
    return run?.has_run as boolean;
  });
}

type Parts = { platform: Platform; sql: Database; account: TestAccount };

/** Merges the second contact into the first; they must share a value that makes them a pair. */
export async function mergeInto(parts: Parts, kept: string, merged: string) {
  return (await mergePair(parts, kept, merged)).survivor;
}

/** Like `mergeInto`; also returns the pair's path parameters. */
export async function mergePair({ platform, sql, account }: Parts, kept: string, merged: string) {
  await lookForDuplicates(platform, sql, account);
  const { data } = await account.client.cdp.duplicates.list({ query: { limit: 100 } });
  const pair = data.find(({ contacts }) => contacts.every(({ id }) => [kept, merged].includes(id)))!;
  const params = { duplicate_id: pair.id };
  return { params, survivor: await account.client.cdp.duplicates.merge({ params, body: { keep: kept } }) };
}

/** Copies changed contacts from now on, for `takeChanged`, because the refresh deletes the originals. */
export async function keepChanged(sql: Database): Promise<void> {
  await sql`create table kept_changes (like changed_contacts)`;
  await sql`
    create function keep_change() returns trigger language plpgsql as $$
    begin
      insert into kept_changes select new.*;
      return null;
    end $$`;
  await sql`create trigger keep_change after insert on changed_contacts for each row execute function keep_change()`;
}

/** Returns the ids of contacts queued as changed, oldest first, and forgets them. */
export async function takeChanged(sql: Database, accountId: string): Promise<string[]> {
  const rows = await sql<{ contact_id: string }[]>`
    with taken as (delete from kept_changes where account_id = ${accountId} returning *)
    select contact_id from taken order by id`;
  return rows.map((row) => row.contact_id);
}

/** Waits until each contact's own `contact.created` is recorded as its event, which is a change as well. */
export async function settle(sql: Database, accountId: string, contacts: number): Promise<void> {
  await waitFor('contact.created', async () => {
    const rows = await sql`select 1 from contact_events where account_id = ${accountId} and name = 'contact.created'`;
    return rows.length === contacts;
  });
}

/** Adds an audience that is never refreshed and asks about events with these names, so that changes are queued. */
export async function addAudience(
  sql: Database,
  accountId: string,
  { members = 0, eventNames = [] as string[] } = {},
): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    insert into audiences (account_id, name, description, rules, event_names, status, members, created_at, updated_at)
    values (${accountId}, gen_random_uuid()::text, '', '{"match": "all", "conditions": []}',
      ${eventNames}::text[], 'failed', ${members}, now(), now()) returning id`;
  return row!.id;
}

/** Runs `work` while a transaction started with `begin` stays open. */
export async function during<Result>(
  sql: Database,
  begin: (tx: Sql) => Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const transaction = inTransaction(sql, async (tx) => {
    await begin(tx);
    begun.resolve();
    await over.promise;
  });
  await Promise.race([begun.promise, transaction]);
  try {
    return await work();
  } finally {
    over.resolve();
    await transaction;
  }
}
