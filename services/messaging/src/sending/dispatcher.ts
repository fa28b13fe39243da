import {
  BatchWriter,
  type Database,
  DeadlineWatch,
  meter,
  type Timed,
  WakeLoop,
  waitUntil,
} from '@customer-platform/service-kit';
import { type Claim, claimTries, type Lane } from './claims.sql.ts';
import { Lanes } from './lanes.ts';
import { type SendContext, sendAttempt } from './send-attempt.ts';
import type { EndedTry } from './write-results.ts';

export interface DispatcherOptions extends SendContext {
  sql: Database;
  clock: () => Date;
  /** Tries under way at most of one account on one channel, which answers earn it. */
  maxPerLane: number;
  /** Tries under way at most that began within the last second; four times as many in all. */
  maxInFlight: number;
  /** Requests that the process works on. */
  requests: { readonly underWay: number };
  /** Writes what tries came to, with all that follows. */
  write(ended: readonly EndedTry[]): Promise<void>;
}

/** How often the database is looked at without a wake: bounds how late a retry, or another process's message, begins. */
const lookEveryMs = 100;
const slowestRetryMs = 2_000;
/** How long wakes are gathered: what becomes due at once, and what ends at once, is one claim. */
const gatherMs = 5;
/** From here on a try counts as slow, and no longer against those that begin. */
const slowMs = 1_000;
const sweepMs = 50;
const maxUnwritten = 1_000;
/** Results in one transaction. */
const maxWritten = 200;
const stopMs = 16_000;
/** With so many requests under way the process is at its limit: taking messages goes before sending them, which then keeps to this pace. */
const busyRequests = 4;
const busyEveryMs = 50;
const busyMost = 8;
/** A call that took so long counts as unanswered, whatever came in the end. */
const hungMs = 10_000;

const tries = meter.createCounter('messages.tries', {
  description: 'Tries of messages by channel and what came of them.',
});

type RunningTry = Timed & { isSlow: boolean };

/**
 * Sends what is due. It claims tries of all lanes in turn, within its bounds, and has what they come to written in sets. A lane at its
 * limit is passed over, so that a provider that hangs holds up its own account's channel alone.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #look: WakeLoop;
  readonly #writer: BatchWriter<EndedTry>;
  readonly #lanes: Lanes;
  readonly #running = new DeadlineWatch<RunningTry>(slowMs, sweepMs, (running) => {
    running.isSlow = true;
    this.#slow++;
    this.#look.wake();
  });
  #underWay = 0;
  #slow = 0;
  #after: Lane | undefined;
  #claimedAt = 0;
  #isStopping = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { log, maxPerLane } = options;
    this.#lanes = new Lanes(maxPerLane);
    this.#writer = new BatchWriter({
      name: 'results',
      log,
      maxBatch: maxWritten,
      write: options.write,
      refused: ({ claim }, error) =>
        log.error({ err: error, message: claim.message_id }, 'what a try came to cannot be stored'),
    });
    this.#look = new WakeLoop('send', { everyMs: lookEveryMs, slowestRetryMs, gatherMs, log }, () => this.#claim());
  }

  /** Says that something became due: after the commit of the transaction that made it so. */
  wake(): void {
    this.#look.wake();
  }

  /** Claims nothing more, waits for tries under way and writes what they came to; what is cut off is found as lost. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#look.stop();
    await waitUntil(() => this.#underWay === 0, stopMs);
    this.#running.stop();
    await this.#writer.stop();
  }

  async #claim(): Promise<boolean> {
    const { sql, clock, maxInFlight, requests } = this.#options;
    const isBusy = requests.underWay >= busyRequests;
    if (isBusy && performance.now() - this.#claimedAt < busyEveryMs) return false;
    const slots = Math.min(maxInFlight - (this.#underWay - this.#slow), maxInFlight * 4 - this.#underWay);
    const free = isBusy ? Math.min(slots, busyMost) : slots;
    if (this.#isStopping || free <= 0 || this.#writer.waiting > maxUnwritten) return false;
    const after = this.#after;
    const lanes = { perLane: this.#lanes.freeOfOthers, busy: this.#lanes.known() };
    const { claims, last } = await claimTries(sql, clock(), { most: free, ...lanes, after });
    // Where the slots did not suffice, the next claim begins behind the lanes that had some.
    this.#after = claims.length < free ? last : lastOf(claims);
    this.#claimedAt = performance.now();
    for (const claim of claims) void this.#send(claim);
    return !isBusy && (claims.length > 0 || last !== undefined || after !== undefined);
  }

  async #send(claim: Claim): Promise<void> {
    const running: RunningTry = { startedAtMs: performance.now(), isOver: false, isSlow: false };
    this.#lanes.begin(claim);
    this.#underWay++;
    this.#running.watch(running);
    const result = await sendAttempt(claim, this.#options);
    running.isOver = true;
    this.#underWay--;
    if (running.isSlow) this.#slow--;
    const tookMs = performance.now() - running.startedAtMs;
    this.#lanes.end(claim, result.outcome !== 'unknown' && tookMs < hungMs);
    tries.add(1, { channel: claim.channel, outcome: result.outcome });
    this.#writer.add({ claim, result });
    this.#look.wake();
  }
}

/** The last lane of some claims, in the order in which lanes are claimed. */
function lastOf(claims: readonly Claim[]): Lane | undefined {
  const nameOf = ({ account_id, channel }: Lane) => `${account_id} ${channel}`;
  return claims.reduce<Lane | undefined>((last, one) => (last && nameOf(last) > nameOf(one) ? last : one), undefined);
}
