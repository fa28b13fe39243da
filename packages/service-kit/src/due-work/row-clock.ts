import type { ClockedRows } from '../clocks/clocked-rows.ts';
import type { Clocks } from '../clocks/clocks.ts';
import { everybody, type Scope } from '../clocks/scope.ts';
import type { Database } from '../database/database.ts';
import { type DueTable, type LeasedRow, renewLeases } from './due-rows.ts';
import type { DueRow, DueWork } from './due-work.ts';

type OfAccount = Pick<DueRow, 'account_id'>;

/** The clocks by which the rows of one queue go: those of their accounts, or the real time. */
export class RowClock {
  readonly #clocks: Clocks;
  readonly #isByRealTime: boolean;

  constructor(clocks: Clocks, { isByRealTime = false }: { isByRealTime?: boolean | undefined }) {
    this.#clocks = clocks;
    this.#isByRealTime = isByRealTime;
  }

  /** Returns the scope of a round by the real time. */
  get realScope(): Scope {
    return { ...everybody, leavesClocks: this.#clocks.hasAny && !this.#isByRealTime };
  }

  /** Returns the time of a round. */
  nowIn({ account }: Scope): Date {
    return account === undefined ? this.#clocks.real() : this.#clocks.nowOf(account);
  }

  /** Returns the time of a row. */
  nowOf({ account_id }: OfAccount): Date {
    return this.#isByRealTime ? this.#clocks.real() : this.#clocks.nowOf(account_id);
  }

  /** Does `work` by the clock of a row's account. */
  by<Made>({ account_id }: OfAccount, work: () => Made): Made {
    return this.#isByRealTime ? work() : this.#clocks.by(account_id, work);
  }

  /** Returns how many of the first rows go by one clock. */
  together(rows: readonly OfAccount[]): number {
    if (!this.#clocks.hasAny || this.#isByRealTime) return rows.length;
    const first = this.#clocks.ownerOf(rows[0]!.account_id);
    const other = rows.findIndex(({ account_id }) => this.#clocks.ownerOf(account_id) !== first);
    return other === -1 ? rows.length : other;
  }

  /** Renews the leases that have less than two thirds left, each by its clock; returns the runs whose rows are another's. */
  async renew<Run extends LeasedRow & { row: OfAccount & LeasedRow['row'] }>(
    sql: Database,
    table: DueTable,
    runs: readonly Run[],
    leaseMs: number,
  ): Promise<Run[]> {
    const isEnding = ({ row, leasedUntil }: Run) =>
      leasedUntil.getTime() <= this.nowOf(row).getTime() + (leaseMs * 2) / 3;
    const lost: Run[] = [];
    const parts = Map.groupBy(runs.filter(isEnding), ({ row }) => this.#clocks.ownerOf(row.account_id));
    for (const part of parts.values()) {
      const kept = new Set(await renewLeases(sql, table, part, new Date(this.nowOf(part[0]!.row).getTime() + leaseMs)));
      lost.push(...part.filter((run) => !kept.has(run)));
    }
    return lost;
  }
}

/** Returns the rows of a queue as the clocks of accounts see them. */
export function clockedRowsOf<Row extends DueRow, Result>(work: DueWork<Row, Result>): ClockedRows {
  const { name, where, due, attempts, error } = work.table;
  const isLeased: ClockedRows['running'] = (sql, now) =>
    sql`${sql(due)} > ${now} and ${sql(attempts)} > 0 and ${sql(error)} is null`;
  const running = work.running ?? (work.retries ? isLeased : undefined);
  return { name, due, ...(where && { where }), ...(running && { running }) };
}
