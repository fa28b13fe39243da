import type postgres from 'postgres';

/**
 * Settings by which PostgreSQL looks at a table after so many changes, however large it is: by default after a tenth of it. Of an account that it has not seen there
 * it expects one row, and then each index that begins with the account seems as good as the primary key: every look-up of one row read all rows of the account,
 * until a customer beside one of a million had a hundred thousand.
 */
export const analyzedOften = 'autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000';

/** Time that a table's settings wait for who vacuums it, for example: the next start sets those of one that is left. */
const lockMs = 200;
const lockNotAvailable = '55P03';

/** Has the tables of the schema that have rows of accounts, partitions too, analyzed often; leaves out one that is locked. Nobody who reads or writes waits. */
export async function setAnalyzedOften(sql: postgres.Sql): Promise<void> {
  for (const table of await analyzedSeldom(sql)) {
    const settings = `set lock_timeout = ${lockMs}; alter table ${table} set (${analyzedOften})`;
    await sql
      .unsafe(settings)
      .simple()
      .catch((error: { code?: string }) => {
        if (error.code !== lockNotAvailable) throw error;
      });
  }
}

async function analyzedSeldom(sql: postgres.Sql): Promise<string[]> {
  const settings = analyzedOften.split(', ').map((setting) => setting.replaceAll(' ', ''));
  const rows = await sql<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and not coalesce(c.reloptions, '{}') @> ${settings}::text[]
      and exists (select from pg_attribute where attrelid = c.oid and attname = 'account_id')
    order by 1`;
  return rows.map(({ name }) => name);
}
