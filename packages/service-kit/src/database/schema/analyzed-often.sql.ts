import type postgres from 'postgres';

/**
 * Settings by which PostgreSQL analyzes a table after so many changes, however large it is; by default after a tenth of it. Of an account that it has not
 * seen there it expects one row, and then may read all rows of the account for each look-up: any index that begins with it seems as good as another.
 */
export const analyzedOften = 'autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000';

/**
 * Has the tables of the schema that have rows of accounts, partitions too, analyzed often. Nobody who reads or writes waits; a table that somebody
 * vacuums, for example, is left out after 200 ms, and set at the next start.
 */
export async function setAnalyzedOften(sql: postgres.Sql): Promise<void> {
  const settings = `{${analyzedOften.replaceAll(' ', '')}}`;
  await sql.unsafe(`
    do $$ declare seldom regclass; begin
      perform set_config('lock_timeout', '200ms', true);
      for seldom in
        select oid from pg_class c
        where relnamespace = current_schema()::regnamespace and relkind = 'r' and not coalesce(reloptions, '{}') @> '${settings}'::text[]
          and exists (select from pg_attribute where attrelid = c.oid and attname = 'account_id')
      loop
        begin
          execute format('alter table %s set (${analyzedOften})', seldom);
        exception when lock_not_available then null;
        end;
      end loop;
    end $$`);
}
