import type postgres from 'postgres';
import { fillTables } from './many-rows.ts';

/** The number of deliveries, the tries of each, of which the last one succeeded, and the days that they are spread over. */
interface Shape {
  count: number;
  triesEach: number;
  days: number;
}

/** Inserts events, a delivery of each, and its tries, evenly over the days before now; of each customer equally many. */
export async function insertDeliveries(
  sql: postgres.Sql,
  customers: readonly { id: string; endpoint: string }[],
  { count, triesEach, days }: Shape,
): Promise<void> {
  const [ids, endpoints] = [customers.map(({ id }) => id), customers.map(({ endpoint }) => endpoint)];
  const each = customers.length;
  await fillTables(sql, ['webhooks.events', 'webhooks.deliveries', 'webhooks.tries'], async (tx) => {
    await tx`
      create temporary table made on commit drop as
      select (${ids}::uuid[])[1 + n % ${each}::int] as account_id, (${endpoints}::uuid[])[1 + n % ${each}::int] as endpoint_id,
        uuidv7(-age) as event_id, uuidv7(-age) as id, date_trunc('milliseconds', now() - age) as at
      from generate_series(1, ${count}::int) as n
      cross join lateral (select make_interval(secs => n * ${(days * 86_400) / count}::float8) as age) as aged`;
    await tx`
      insert into webhooks.event_counters (account_id, last) select unnest(${ids}::uuid[]), 0 on conflict do nothing`;
    await tx`
      insert into webhooks.events (account_id, id, sequence, type, envelope, matched, taken_at)
      select account_id, event_id, last + row_number() over (partition by account_id order by event_id), 'contact.created',
        '{"id":"' || event_id || '","filler":"' || repeat('x', 300) || '"}', 1, at
      from made join webhooks.event_counters using (account_id) order by event_id`;
    await tx`
      update webhooks.event_counters c set last = last + n.count
      from (select account_id, count(*) from made group by account_id) as n where n.account_id = c.account_id`;
    await tx`
      insert into webhooks.deliveries (account_id, id, endpoint_id, event_id, event, url, status, step, tries_made, response_status, created_at)
      select account_id, id, endpoint_id, event_id, 'contact.created', '', 'delivered', ${triesEach}::int, ${triesEach}::int, 204, at
      from made order by id`;
    await tx`
      insert into webhooks.tries (account_id, delivery_id, number, at, status, duration_ms, is_manual)
      select account_id, id, number, at, case when number = ${triesEach}::int then 204 else 503 end, 5, false
      from made cross join generate_series(1, ${triesEach}::int) as number order by id, number`;
  });
}
