import { instantOfUuid, uuidAt } from '../../values/timed-ids.ts';
import { type Database, inTransaction, type Sql } from '../database.ts';
import { analyzedOften } from './analyzed-often.sql.ts';

/** A time span in epoch milliseconds: [fromMs, toMs). The first partition may begin at -Infinity. */
export interface Bounds {
  fromMs: number;
  toMs: number;
}

/** A partition of a table, which holds the ids of a time span. */
export interface Partition extends Bounds {
  name: string;
}

/** Lock timeout of a drop. Later statements queue behind the drop for up to that time. */
const dropLockMs = 50;
/** Lock timeout for attaching a partition. Only other changes of the table's schema queue behind that. */
const attachLockMs = 1_000;

/**
 * Reads a table's partitions from PostgreSQL's catalog, since names prove nothing, and the database's time in epoch milliseconds. Omits partitions
 * whose bounds are not UUIDs, such as a default partition that an operator created.
 */
export async function readPartitions(sql: Sql, table: string): Promise<{ now: number; partitions: Partition[] }> {
  const rows = await sql<{ now: number; name: string; bounds: string | null }[]>`
    select extract(epoch from now())::float8 * 1000 as now, child.relname as name, pg_get_expr(child.relpartbound, child.oid) as bounds
    from (select ${table}::text::regclass as oid) as parent
    left join pg_inherits i on i.inhparent = parent.oid left join pg_class child on child.oid = i.inhrelid`;
  const partitions = rows.flatMap(({ name, bounds }) => {
    const [, from, to] = uuidBounds.exec(bounds ?? '') ?? [];
    if (to === undefined) return [];
    return {
      name,
      fromMs: from === undefined ? Number.NEGATIVE_INFINITY : instantOfUuid(from),
      toMs: instantOfUuid(to),
    };
  });
  return { now: rows[0]!.now, partitions };
}

const uuidBounds = /^FOR VALUES FROM \((?:MINVALUE|'([0-9a-f-]{36})')\) TO \('([0-9a-f-]{36})'\)$/;

/**
 * Creates a partition named by its first day. Appends the time if an operator detached and kept one of that name. Returns false if another
 * process is changing the table's partitions. Creates a table and then attaches it, so that readers and writers never wait.
 */
export async function makePartition(sql: Database, table: string, { fromMs, toMs }: Bounds): Promise<boolean> {
  const ofDay = `${table}_${new Date(fromMs).toISOString().slice(0, 10).replaceAll('-', '')}`;
  return await changeAlone(sql, table, attachLockMs, async (tx, partitions) => {
    // Another process has created it meanwhile.
    if (partitions.some((one) => one.fromMs < toMs && fromMs < one.toMs)) return;
    const [kept] = await tx`select from pg_class where oid = to_regclass(${ofDay})`;
    const name = kept ? `${ofDay}_${Date.now()}` : ofDay;
    await tx.unsafe(`create table ${name} (like ${table} including all) with (${analyzedOften})`);
    await tx.unsafe(
      `alter table ${table} attach partition ${name} for values from ('${uuidAt(fromMs)}') to ('${uuidAt(toMs)}')`,
    );
  });
}

/**
 * Drops a partition with all its rows. Returns false if another process is changing the table's partitions. Throws after 50 ms if a transaction,
 * such as a backup, holds a conflicting lock: later statements queue behind the drop for that long.
 */
export async function dropPartition(sql: Database, table: string, { name, toMs }: Partition): Promise<boolean> {
  return await changeAlone(sql, table, dropLockMs, async (tx, partitions) => {
    if (!partitions.some((one) => one.name === name && one.toMs === toMs)) return;
    await tx`drop table ${tx(name)}`;
  });
}

/** Changes a table's current partitions in one transaction. Returns false if another process is changing them. */
async function changeAlone(
  sql: Database,
  table: string,
  lockMs: number,
  change: (tx: Sql, partitions: readonly Partition[]) => Promise<void>,
): Promise<boolean> {
  return await inTransaction(sql, async (tx) => {
    const [lock] = await tx<{ isHeld: boolean }[]>`
      select pg_try_advisory_xact_lock(hashtextextended(${`partitions ${table}`} || ' of ' || current_schema(), 0)) as "isHeld",
        set_config('lock_timeout', ${`${lockMs}ms`}, true)`;
    if (!lock!.isHeld) return false;
    await change(tx, (await readPartitions(tx, table)).partitions);
    return true;
  });
}
