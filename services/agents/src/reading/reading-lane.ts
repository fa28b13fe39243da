import type { SourceKind } from '@customer-platform/contracts/agents';
import { type Foundation, WakeLoop } from '@customer-platform/service-kit';
import { type Claim, claimSource } from './reading.sql.ts';

/** How late a source is begun that no wake told of: one that was read before, or that another process left. */
const lookEveryMs = 500;
const slowestRetryMs = 10_000;
/** So many accounts are remembered as served, so that others come first. */
const maxServed = 100;

/** What a lane reads, and how many sources at once, in all and of one account. */
export interface LaneBounds {
  kinds: readonly SourceKind[];
  most: number;
  perAccount: number;
}

/** Reads one source to its end, or until `stop` is aborted; never rejects. */
export type ReadClaim = (claim: Claim, stop: AbortController) => Promise<void>;

interface Running {
  accountId: string;
  stop: AbortController;
  done: Promise<void>;
}

/** Claims sources of some kinds that are due, of accounts in turn, and has them read side by side. */
export class ReadingLane {
  readonly #foundation: Foundation;
  readonly #bounds: LaneBounds;
  readonly #leasedUntil: () => Date;
  readonly #read: ReadClaim;
  readonly #loop: WakeLoop;
  readonly #running = new Map<string, Running>();
  #served: string[] = [];

  constructor(foundation: Foundation, bounds: LaneBounds, leasedUntil: () => Date, read: ReadClaim) {
    this.#foundation = foundation;
    this.#bounds = bounds;
    this.#leasedUntil = leasedUntil;
    this.#read = read;
    const { log } = foundation;
    this.#loop = new WakeLoop(`sources (${bounds.kinds})`, { everyMs: lookEveryMs, slowestRetryMs, log }, () =>
      this.#claim(),
    );
  }

  wake(): void {
    this.#loop.wake();
  }

  /** Claims nothing more, and ends what is being read with this reason. */
  async stop(reason: Error): Promise<void> {
    await this.#loop.stop();
    for (const { stop } of this.#running.values()) stop.abort(reason);
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  async #claim(): Promise<boolean> {
    const { sql, clock } = this.#foundation;
    const { kinds, most } = this.#bounds;
    if (this.#running.size >= most) return false;
    const passedOver = { running: [...this.#running.keys()], accounts: this.#busyAccounts() };
    const claim = await claimSource(sql, clock(), this.#leasedUntil(), { kinds, passedOver, served: this.#served });
    if (!claim) return false;
    const others = this.#served.includes(claim.account_id) ? [] : this.#served.slice(1 - maxServed);
    this.#served = [...others, claim.account_id];
    const stop = new AbortController();
    const done = this.#read(claim, stop).finally(() => {
      this.#running.delete(claim.id);
      this.#loop.wake();
    });
    this.#running.set(claim.id, { accountId: claim.account_id, stop, done });
    return true;
  }

  /** Those of which no more is read at once. */
  #busyAccounts(): string[] {
    const running = new Map<string, number>();
    for (const { accountId } of this.#running.values()) running.set(accountId, (running.get(accountId) ?? 0) + 1);
    return [...running].filter(([, count]) => count >= this.#bounds.perAccount).map(([accountId]) => accountId);
  }
}
