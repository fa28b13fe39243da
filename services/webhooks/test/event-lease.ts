import { type Platform, waitFor } from '@customer-platform/testkit';

/** Returns the process that takes events, as the lease names it; undefined where none does. */
export async function holderOfEvents(platform: Platform): Promise<string | undefined> {
  const [row] = await platform.database('webhooks')<{ holder: string }[]>`
    select holder from reporters where name like 'consumer %'`;
  return row?.holder;
}

/**
 * Has another process take events in place of `before`, and resolves once that one has asked twice for its lease and so knows that it lost it: until
 * then both take what comes, which two processes never do by themselves.
 */
export async function passEventsOn(platform: Platform, before: string): Promise<void> {
  const sql = platform.database('webhooks');
  // Whoever is refused writes nothing to the table, but its row gets as far as the trigger.
  await sql`create table if not exists lease_requests (id bigint generated always as identity, holder uuid not null)`;
  await sql`
    create or replace function note_lease_request() returns trigger language plpgsql as $$
    begin
      insert into lease_requests (holder) values (new.holder);
      return new;
    end $$`;
  await sql`
    create or replace trigger note_lease_request before insert on reporters for each row execute function note_lease_request()`;
  await waitFor('the other process to take events', async () => {
    await sql`update reporters set held_until = now() where name like 'consumer %' and holder = ${before}`;
    return ![undefined, before].includes(await holderOfEvents(platform));
  });
  const [last] = await sql<{ id: string }[]>`select coalesce(max(id), 0) as id from lease_requests`;
  await waitFor('the process before to know', async () => {
    const later = await sql`select from lease_requests where id > ${last!.id} and holder = ${before}`;
    return later.length > 1;
  });
}
