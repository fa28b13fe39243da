import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { migrate, type Sql } from '@customer-platform/service-kit';

const sources = [
  { url: new URL('../../../packages/service-kit/migrations/', import.meta.url), last: '0004' },
  { url: new URL('../migrations/', import.meta.url), last: '0006' },
];

/** The migration directories of the kit and this service. */
export const allMigrations = sources.map(({ url }) => url);

/** Migrates a schema to the last release without partitions. */
export async function migrateAsBefore(url: string, schema: string): Promise<void> {
  const directories: string[] = [];
  try {
    for (const source of sources) {
      const directory = await mkdtemp(join(tmpdir(), 'migrations-'));
      directories.push(directory);
      const names = (await readdir(source.url)).filter((name) => name.slice(0, 4) <= source.last);
      for (const name of names) await cp(fileURLToPath(new URL(name, source.url)), join(directory, name));
    }
    const urls = directories.map((directory) => pathToFileURL(`${directory}/`));
    await migrate(url, schema, urls);
  } finally {
    for (const directory of directories) await rm(directory, { recursive: true });
  }
}

/** A delivery as a process knows it, with its account and endpoint. */
export interface Known {
  account: string;
  endpoint: string;
  delivery: string;
}

/** Records one event with that release's statement. */
export async function takeEventBefore(sql: Sql, account: string, id: string, envelope = '{}'): Promise<void> {
  await sql`
    with incoming as (
      select * from unnest(${[account]}::uuid[], ${[id]}::uuid[], ${['deal.won']}::text[], ${[envelope]}::text[], ${[null]}::text[]::jsonb[])
        as i (account_id, id, type, envelope, trace)
    ), taken as (
      insert into events (account_id, id, type, envelope, trace, matched, taken_at)
      select i.account_id, i.id, i.type, i.envelope, i.trace, (
        select count(*) from endpoints e
        where e.account_id = i.account_id and e.events && array[i.type, split_part(i.type, '.', 1) || '.*', '*']
      ), now() from incoming i
      on conflict do nothing returning account_id, id, type
    ), made as (
      insert into deliveries (account_id, endpoint_id, event_id, event, url, status, reason, next_try_at, created_at)
      select t.account_id, e.id, t.id, t.type, e.url, case when e.active then 'pending' else 'skipped' end,
        case when not e.active then 'endpoint_disabled' end, case when e.active then now() end, now()
      from taken t join endpoints e
        on e.account_id = t.account_id and e.events && array[t.type, split_part(t.type, '.', 1) || '.*', '*']
      returning account_id, endpoint_id, next_try_at
    )
    insert into queues (account_id, endpoint_id, due_at)
    select account_id, endpoint_id, min(next_try_at) from made where next_try_at is not null
    group by account_id, endpoint_id order by account_id, endpoint_id
    on conflict (account_id, endpoint_id) do update
      set due_at = least(queues.due_at, excluded.due_at), version = queues.version + 1`;
}

/** Reads the due deliveries of a queue by due time, with that release's statement. */
export async function readQueueBefore(sql: Sql, account: string, endpoint: string) {
  return await sql<{ id: string; envelope: string }[]>`
    select due.id, due.envelope
    from unnest(${[account]}::uuid[], ${[endpoint]}::uuid[], ${[100]}::int[]) as w (account_id, endpoint_id, most)
    join queues q on q.account_id = w.account_id and q.endpoint_id = w.endpoint_id
    left join lateral (
      select first.*, count(*) over ()::int as found,
        sum(octet_length(first.envelope)) over (order by first.next_try_at, first.id) - octet_length(first.envelope) as bytes_before
      from (
        select d.id, d.event_id, d.run, d.step, d.is_manual, v.envelope, v.trace, d.next_try_at
        from deliveries d join events v on v.account_id = d.account_id and v.id = d.event_id
        where d.account_id = w.account_id and d.endpoint_id = w.endpoint_id and d.status = 'pending' and d.next_try_at <= now()
          and d.id <> all(${[]}::uuid[])
        order by d.next_try_at, d.id limit w.most
      ) as first
    ) as due on due.bytes_before < 1048576
    order by w.account_id, w.endpoint_id, due.next_try_at, due.id`;
}

/** Writes a successful attempt with that release's statement. */
export async function writeOutcomeBefore(sql: Sql, { account, endpoint, delivery }: Known): Promise<void> {
  await sql`
    with outcome as (
      select * from unnest(${[account]}::uuid[], ${[endpoint]}::uuid[], ${[delivery]}::uuid[], ${[0]}::int[])
        as o (account_id, endpoint_id, delivery_id, run)
    ), locked as materialized (
      select 1 from queues q join (select distinct account_id, endpoint_id from outcome) as o using (account_id, endpoint_id)
      order by account_id, endpoint_id for update of q
    ), changed as (
      update deliveries d set tries_made = d.tries_made + 1, step = d.step + 1, status = 'delivered', next_try_at = null
      from outcome o cross join (select count(*) from locked) as ready
      where d.account_id = o.account_id and d.id = o.delivery_id and d.run = o.run
      returning d.account_id, d.id, d.endpoint_id, d.tries_made
    )
    insert into tries (account_id, delivery_id, number, at, status, error, duration_ms, is_manual)
    select c.account_id, c.id, c.tries_made, now(), 200, null, 1, false
    from changed c join outcome o on o.account_id = c.account_id and o.delivery_id = c.id`;
}

/** Deletes the oldest event with its deliveries and attempts, with that release's statements. Returns its id. */
export async function forgetEventBefore(sql: Sql): Promise<string> {
  const [event] = await sql<{ account_id: string; id: string }[]>`
    select account_id, id from events where taken_at <= now() order by taken_at limit 1 for update skip locked`;
  await sql`
    with old as (select * from unnest(${[event!.account_id]}::uuid[], ${[event!.id]}::uuid[]) as old (account_id, id)), gone as (
      delete from deliveries d using old where d.account_id = old.account_id and d.event_id = old.id
      returning d.account_id, d.id
    ), tries_gone as (
      delete from tries t using gone where t.account_id = gone.account_id and t.delivery_id = gone.id
    )
    delete from events e using old where e.account_id = old.account_id and e.id = old.id`;
  return event!.id;
}

/** Marks an event as taken and deletes old marks, with that release's statements. Returns whether the event is new. */
export async function takeOnceBefore(sql: Sql, account: string, event: string): Promise<boolean> {
  const fresh = await sql`
    insert into inbox (account_id, event_id, consumer)
    select account_id, event_id, 'public-events' from unnest(${[account]}::uuid[], ${[event]}::uuid[]) as taken (account_id, event_id)
    on conflict do nothing returning event_id`;
  await sql`
    delete from inbox where (account_id, event_id, consumer) in (
      select account_id, event_id, consumer from inbox where taken_at <= now() - interval '15 days' order by taken_at limit 5000)`;
  return fresh.length === 1;
}
