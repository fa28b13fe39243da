import { instantOfUuid, uuidAt } from '../../values/timed-ids.ts';
import { type Database, inTransaction, type Sql } from '../database.ts';
import { analyzedOften } from './analyzed-often.sql.ts';

/** A span of instants in epoch milliseconds: [fromMs, toMs). The first partition may begin at -Infinity. */
export interface Bounds {
  fromMs: number;
  toMs: number;
}

/** A partition of a table, in which ids of a span of time are. */
export interface Partition extends Bounds {
  name: string;
}

/** Time for which a drop waits for a lock: whoever comes after it waits behind it for as long. */
const dropLockMs = 50;
/** The same of a partition that is attached: only other changes of the table wait for that. */
const attachLockMs = 1_000;

/**
 * Reads a table's partitions from the catalogue, since names say nothing, and the database's time in epoch milliseconds. Those whose bounds are no
 * UUIDs, such as a default one that somebody has made, are left out.
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
 * Makes a partition, named by its first day (and the time, where an operator detached and kept one of that name); returns false where another process
 * is about to change the table's. Nobody who reads or writes waits: it is made apart, and then attached.
 */
export async function makePartition(sql: Database, table: string, { fromMs, toMs }: Bounds): Promise<boolean> {
  const ofDay = `${table}_${new Date(fromMs).toISOString().slice(0, 10).replaceAll('-', '')}`;
  return await changeAlone(sql, table, attachLockMs, async (tx, partitions) => {
    // Another process has made it since.
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
 * Drops a partition with all its rows; returns whether this call did. Throws after 50 ms where a transaction holds a lock that is in the
 * way, a backup for example: whoever came after it has waited that long.
 */
export async function dropPartition(sql: Database, table: string, { name, toMs }: Partition): Promise<boolean> {
  return await changeAlone(sql, table, dropLockMs, async (tx, partitions) => {
    if (!partitions.some((one) => one.name === name && one.toMs === toMs)) return;
    await tx`drop table ${tx(name)}`;
  });
}

/** Changes a table's partitions in one transaction, as they are then; returns whether it did: of several processes one does. */
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
