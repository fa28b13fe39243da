import type { Sql } from '@customer-platform/service-kit';

/** Returns how many rows of a table, including its partitions, the transaction has read so far. */
export async function rowsRead(tx: Sql, table: string): Promise<number> {
  const [read] = await tx<[{ rows: number }]>`
    select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int as rows from pg_stat_xact_user_tables
    where relid = to_regclass(${table}) or relid in (select relid from pg_partition_tree(to_regclass(${table})))`;
  return read.rows;
}
