import type { Sql } from '../database/database.ts';
import { isOfAccount } from '../database/of-account.sql.ts';
import type { Fragment, QueueRows } from '../database/queue-rows.ts';

/** Rows of a module by whose time something happens: what the clocks of accounts stop at. */
export interface ClockedRows extends Omit<QueueRows, 'due'> {
  /** The column with the time; null where a row is to be taken as soon as it is there. */
  due: string | null;
  /** Condition of a row that a process is working on. */
  running?(sql: Sql, now: Date): Fragment;
  /** They are looked for so many milliseconds after their time, and hold no clock: what is left of processes that died. */
  afterMs?: number;
  /** Selects one row of booleans and a time, instead of what the columns say: `due`, `running`, `next`. */
  look?(sql: Sql, at: Look): Fragment;
}

/** A look at the rows of an account. */
export interface Look {
  account: string;
  /** By the account's clock. */
  now: Date;
  /** Paused endpoints, whose rows hold nothing up. */
  endpoints: readonly string[];
}

/** Rows of an account: whether some are due or being worked on, and the time of the next. */
export interface Found {
  due: boolean;
  running: boolean;
  next: Date | null;
}

const others = (sql: Sql, { where }: Pick<ClockedRows, 'where'>) => (where ? sql`and ${where(sql)}` : sql``);

const isDue = (sql: Sql, { due, afterMs = 0 }: ClockedRows, now: Fragment) =>
  due === null ? sql`true` : sql`t.${sql(due)} <= ${now} - ${afterMs} * interval '1 ms'`;

/** Selects what of an account's rows is due, running and next. */
export function lookAt(sql: Sql, rows: ClockedRows, at: Look): Fragment {
  if (rows.look) return rows.look(sql, at);
  const { account, now, endpoints } = at;
  const { name, due, endpoint, running } = rows;
  const isShown =
    endpoint && endpoints.length > 0 ? sql`and ${sql(endpoint)} <> all(${[...endpoints]}::uuid[])` : sql``;
  const mine = sql`from ${sql(name)} as t where t.account_id = ${account} ${others(sql, rows)} ${isShown}`;
  const isRunning = running ? sql`(${running(sql, now)})` : sql`false`;
  const isRunningNow = running
    ? sql`exists (select from ${sql(name)} as t where t.account_id = ${account} and ${isRunning})`
    : sql`false`;
  const next =
    due === null
      ? sql`null::timestamptz`
      : sql`(select t.${sql(due)} ${mine} and t.${sql(due)} > ${now} and t.${sql(due)} <> 'infinity' and not coalesce(${isRunning}, false)
          order by t.${sql(due)} limit 1)`;
  return sql`
    select exists (select ${mine} and ${isDue(sql, rows, sql`${now}::timestamptz`)}) as due, ${isRunningNow} as running, ${next} as next`;
}

/** Accounts of one table of which something is due that are found in one look. */
const maxFound = 200;

/** A look for accounts with due rows: at the real time `now`, from one id on and round. */
interface DueLook {
  entry: number;
  now: Date;
  from: string;
  /** Those that are looked at; left out: all with clocks of their own. */
  accounts?: readonly string[] | undefined;
}

/** Selects `entry` and the accounts with clocks of their own that have due rows: each by the index on account and due column. */
export function accountsDue(sql: Sql, rows: ClockedRows, { entry, now, from, accounts }: DueLook): Fragment {
  const then = sql`(${now}::timestamptz + c.ahead_ms * interval '1 ms')`;
  const named = accounts ? sql`where c.account_id = any(${[...accounts]}::uuid[])` : sql``;
  return sql`(
    select ${entry}::int as entry, c.account_id from sandbox_clocks c cross join lateral (
      select from ${sql(rows.name)} as t where ${isOfAccount(sql, 't.account_id', 'c.account_id')} and ${isDue(sql, rows, then)} ${others(sql, rows)} limit 1) as due
    ${named} order by c.account_id < ${from}, c.account_id limit ${maxFound})`;
}
