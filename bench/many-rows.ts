import type { Client } from '@customer-platform/client';
import type postgres from 'postgres';

const firstNames =
  'Maria,Ada,Grace,Alan,Edsger,Barbara,Donald,Frances,John,Margaret,Niklaus,Radia,Ken,Sophie,Tim,Hedy,Linus,Karen,Dennis,Jean'.split(
    ',',
  );
const lastNames =
  'Ander,Berg,Carl,Dahl,Eng,Frank,Green,Holm,Ingel,Jacob,Kirch,Lind,Mort,Nord,Oster,Peter,Quist,Ros,Stein,Thor,Ull,Vest,Wester,York,Zimmer'.split(
    ',',
  );
const endings =
  'mann,sson,feld,strom,gaard,ley,wick,hurst,ton,dorf,burg,heim,bach,hauser,beck,wood,stad,dale,brook,croft'.split(',');

/**
 * Runs `fill` while the tables (schema.name) have only the indexes of their constraints and no foreign keys are checked, then
 * recreates the other indexes, vacuums and analyzes. The result is as if the rows had been inserted over months.
 */
export async function fillTables(
  sql: postgres.Sql,
  tables: readonly string[],
  fill: (tx: postgres.TransactionSql) => Promise<unknown>,
): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`select set_config('session_replication_role', 'replica', true), set_config('maintenance_work_mem', '512MB', true)`;
    const indexes = await tx<{ name: string; definition: string }[]>`
      select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
      where indrelid = any(${[...tables]}::text[]::regclass[])
        and not exists (select from pg_constraint where conindid = indexrelid)`;
    for (const { name } of indexes) await tx.unsafe(`drop index ${name}`);
    await fill(tx);
    // For a partitioned table, this is the definition of the parent only.
    for (const { definition } of indexes) await tx.unsafe(definition.replace(' ON ONLY ', ' ON '));
  });
  for (const table of tables) await sql.unsafe(`vacuum analyze ${table}`);
}

/**
 * Inserts `count` contacts into an account that has none, numbered from 1, created one per second, the last one now. All have an
 * external id, a phone, an email and a name that is unique in its email's domain; half of them the tag newsletter, half vip, ten in a
 * million board; one in twenty is called Maria, four in a million Zebulon. Of those numbered from 4,001 to 10,000, each two share a phone.
 */
export async function insertContacts(tx: postgres.TransactionSql, accountId: string, count: number): Promise<void> {
  await tx`
    insert into cdp.contacts (account_id, id, number, external_id, name, phone, email, tags, fields, created_at, updated_at)
    select ${accountId}::uuid, uuidv7(make_interval(secs => n - ${count}::int)), n, 'customer-' || n,
      case when n % 250000 = 77 then 'Zebulon Quirke' else (${firstNames}::text[])[1 + n % 20] || ' '
        || (${lastNames}::text[])[1 + n / 20 % 25] || (${endings}::text[])[1 + n / 500 % 20] end,
      '+49301' || lpad((case when n between 4001 and 10000 then (n + 1) / 2 * 2 else n end)::text, 7, '0'),
      'person' || n || '@company' || (n - 1) / 10000 || '.example',
      array_remove(array[case when n % 2 = 0 then 'newsletter' end, case when n / 10 % 2 = 0 then 'vip' end,
        case when n % 100000 = 7 then 'board' end], null),
      jsonb_build_object('plan', case when n % 3 = 0 then 'pro' else 'free' end, 'visits', n % 100),
      at, at
    from generate_series(1, ${count}::int) as n
    cross join lateral (select date_trunc('milliseconds', now() + make_interval(secs => n - ${count}::int)) as at) as made
    order by n`;
  await tx`insert into cdp.contact_numbers (account_id, last) values (${accountId}, ${count})`;
}

/** Copies an account's contacts from customer data into a service's copy. */
export async function copyContacts(
  tx: postgres.TransactionSql,
  service: 'agents' | 'calendar' | 'catalogue' | 'crm' | 'messaging',
  accountId: string,
): Promise<void> {
  await tx`
    insert into ${tx(`${service}.contacts`)} (account_id, id, name, phone, sequence)
    select account_id, id, name, phone, number from cdp.contacts where account_id = ${accountId} order by id`;
}

/** Number of contacts that an account's deals and orders are spread over. */
const contactsWithDeals = 100_000;

/** Selects the contact of the n-th deal or order: number 1 has one in a hundred of all; the rest is spread over 100,000. */
const contactOfRow = (sql: postgres.ISql, count: number) =>
  sql`case when n % 100 = 0 then 1 else 2 + n % ${Math.min(count, contactsWithDeals) - 2}::int end`;

/** Ids of an account's pipeline and of its stages, three or more. */
interface DealPlaces {
  pipeline: number;
  stages: number[];
}

/** Returns the pipeline and stages of a new account. */
export async function dealPlacesOf(client: Client): Promise<DealPlaces> {
  const [pipeline] = (await client.crm.pipelines.list({})).data;
  return { pipeline: pipeline!.id, stages: pipeline!.stages.map(({ id }) => id) };
}

/**
 * Inserts deals of contacts that are copied: six in ten open, three won; the first two stages have equally many, the last one row in a
 * hundred thousand.
 */
export async function insertDeals(
  tx: postgres.TransactionSql,
  accountId: string,
  count: number,
  { pipeline, stages }: DealPlaces,
): Promise<void> {
  await tx`
    insert into crm.deals (account_id, id, number, title, pipeline_id, stage_id, status, value_minor, currency, contact_id,
      notes, stage_entered_at, closed_at, created_at, updated_at)
    select ${accountId}::uuid, uuidv7(make_interval(secs => n - ${count}::int)), n, 'Deal ' || n, ${pipeline}::bigint,
      (${stages}::bigint[])[case when n % 100000 = 5 then 3 else 1 + n % 2 end], status, n % 100000 * 100, 'EUR', c.id,
      'Called back, wants an offer', at, case when status <> 'open' then at end, at, at
    from generate_series(1, ${count}::int) as n
    cross join lateral (select date_trunc('milliseconds', now() + make_interval(secs => n - ${count}::int)) as at,
      case when n % 10 < 6 then 'open' when n % 10 < 9 then 'won' else 'lost' end as status) as made
    join crm.contacts c on c.account_id = ${accountId} and c.sequence = ${contactOfRow(tx, count)}
    order by n`;
  await tx`insert into crm.deal_numbers (account_id, last) values (${accountId}, ${count})`;
}

/**
 * Inserts orders, of a line each, of contacts that are copied: half of them fulfilled, ten in a million cancelled; a third by api; ten in a
 * million, none of those cancelled, by agent.
 */
export async function insertOrders(tx: postgres.TransactionSql, accountId: string, count: number): Promise<void> {
  await tx`
    insert into catalogue.orders (account_id, id, number, status, source, channel, contact_id, total_minor, currency, note,
      created_at, updated_at)
    select ${accountId}::uuid, uuidv7(make_interval(secs => n - ${count}::int)), n,
      case when n % 100000 = 5 then 'cancelled' when n % 2 = 0 then 'fulfilled' when n % 5 = 0 then 'declined' else 'new' end,
      case when n % 100000 = 6 then 'agent' else (array['api', 'cart', 'person'])[1 + n % 3] end,
      'whatsapp', c.id, 1780, 'EUR', '', at, at
    from generate_series(1, ${count}::int) as n
    cross join lateral (select date_trunc('milliseconds', now() + make_interval(secs => n - ${count}::int)) as at) as made
    join catalogue.contacts c on c.account_id = ${accountId} and c.sequence = ${contactOfRow(tx, count)}
    order by n`;
  await tx`insert into catalogue.order_numbers (account_id, last) values (${accountId}, ${count})`;
  await tx`
    insert into catalogue.order_lines (account_id, order_id, position, sku, name, quantity, unit_price_minor)
    select account_id, id, 1, 'TEA-100', 'Tea, 100 g', 2, 890 from catalogue.orders where account_id = ${accountId} order by id`;
}
