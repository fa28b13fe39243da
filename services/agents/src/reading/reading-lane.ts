import type { SourceKind } from '@customer-platform/contracts/agents';
import { type Foundation, WakeLoop } from '@customer-platform/service-kit';
import { type Claim, claimSource } from './reading.sql.ts';

/** Poll interval for sources we were not woken for: due on their schedule, or left by another process. */
const pollEveryMs = 500;
const slowestRetryMs = 10_000;
/** Maximum number of accounts remembered as served; others come first. */
const maxServed = 100;

/** Kinds of sources that a lane reads, and its maximum concurrency, in all and per account. */
export interface LaneBounds {
  kinds: readonly SourceKind[];
  most: number;
  perAccount: number;
}

/** Reads one source completely, or until `stop` is aborted; never rejects. */
type ReadClaim = (claim: Claim, stop: AbortController) => Promise<void>;

interface Running {
  accountId: string;
  stop: AbortController;
  done: Promise<void>;
}

/** Claims due sources of some kinds, of accounts in turn, and reads them concurrently. */
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
    this.#loop = new WakeLoop(`sources (${bounds.kinds})`, { everyMs: pollEveryMs, slowestRetryMs, log }, () =>
      this.#claim(),
    );
  }

  wake(): void {
    this.#loop.wake();
  }

  /** Stops claiming, and aborts readings in progress with this reason. */
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

  /** Returns the accounts at their maximum concurrency. */
  #busyAccounts(): string[] {
    const running = new Map<string, number>();
    for (const { accountId } of this.#running.values()) running.set(accountId, (running.get(accountId) ?? 0) + 1);
    return [...running].filter(([, count]) => count >= this.#bounds.perAccount).map(([accountId]) => accountId);
  }
}
