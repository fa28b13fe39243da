import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { AccountPace } from './account-pace.ts';
import type { Bus } from './bus.ts';
import type { Logger } from './logging.ts';

/**
 * What the events of one account may cost in a second, in events without an endpoint: a twentieth of the time of the consumer that takes
 * those of all accounts, so that those of others never wait long behind what one account changes at once, neither here nor in the stream.
 */
const perAccountASecond = 1_000;

const topic = 'event-pace';
/** Events or cost from which the other processes are told, within a second: nobody needs to hear of less. */
const toldFrom = 100;
const toldWithinMs = 1_000;
/** Bounds of what is believed of another process: a message may be forged by a service that was taken over. */
const maxTold = 20_000;
const maxAccounts = 10_000;

const Message = z.object({
  from: z.string(),
  account: z.uuid(),
  cost: z.number().min(0).max(maxTold),
  /** Public events that were taken, whose further cost it is; left out of what was published. */
  taken: z.int().positive().max(maxTold).optional(),
});
type Message = z.infer<typeof Message>;

/** Cost of an account's events, and the number of those that were taken. */
interface Sum {
  cost: number;
  taken: number;
}

/**
 * Pace of each account's events, the same in all processes of all services: what an account gets of one, it has less of in the others. What taking
 * a public event costs beside it, such as its deliveries, is known once some were taken: from then on those of the account cost that much when they
 * are published. A process tells the others of 100 in a second or more; without the bus each goes by what it knows.
 */
export class EventPace {
  readonly #bus: Pick<Bus, 'announce'>;
  readonly #self = randomUUID();
  readonly #pace: AccountPace;
  /** Further cost of a public event of each account, as it was last. */
  readonly #further = new LRUCache<string, number>({ max: maxAccounts });
  /** Sums of this second that the others do not know of. */
  readonly #published: LRUCache<string, Sum>;
  readonly #taken: LRUCache<string, Sum>;

  constructor(bus: Pick<Bus, 'announce'>, nowMs = () => performance.now()) {
    this.#bus = bus;
    this.#pace = new AccountPace(perAccountASecond, nowMs);
    const second = { max: maxAccounts, ttl: toldWithinMs, noUpdateTTL: true, ttlResolution: 0, perf: { now: nowMs } };
    this.#published = new LRUCache(second);
    this.#taken = new LRUCache(second);
  }

  /** Goes by what the other processes tell as well. */
  hear(bus: Pick<Bus, 'listen'>, log: Logger): void {
    bus.listen(topic, (payload) => {
      try {
        const { from, account, cost, taken } = Message.parse(JSON.parse(payload));
        if (from === this.#self) return;
        if (taken === undefined) this.#pace.spend(account, cost);
        else this.#learn(account, { cost, taken });
      } catch (error) {
        log.warn({ err: error }, 'invalid message about the pace of events');
      }
    });
  }

  /** Notes what events of an account cost that were published, `publicEvents` of them public; it may be more than it had, and has to wait then. */
  published(accountId: string, cost: number, publicEvents: number): void {
    const all = cost + publicEvents * (this.#further.get(accountId) ?? 0);
    this.#pace.spend(accountId, all);
    const sum = this.#untold(this.#published, accountId, { cost: all, taken: 0 });
    if (sum) this.#tell(accountId, { cost: sum.cost });
  }

  /** Notes what public events of an account, `taken` of them, cost beside what they cost when they were published. */
  took(accountId: string, taken: number, cost: number): void {
    const sum = this.#untold(this.#taken, accountId, { cost, taken });
    if (!sum) return;
    this.#learn(accountId, sum);
    this.#tell(accountId, sum);
  }

  /** Returns the accounts whose events have to wait. */
  waiting(): string[] {
    return this.#pace.waiting();
  }

  /** Returns the milliseconds until the first of them may go on. */
  waitMs(): number {
    return this.#pace.waitMs();
  }

  /** Adds to a sum of this second; returns the sum once it is to be told. */
  #untold(sums: LRUCache<string, Sum>, accountId: string, { cost, taken }: Sum): Sum | undefined {
    const before = sums.get(accountId) ?? { cost: 0, taken: 0 };
    const sum = { cost: before.cost + cost, taken: before.taken + taken };
    if (sum.cost < toldFrom && sum.taken < toldFrom) {
      sums.set(accountId, sum);
      return undefined;
    }
    sums.delete(accountId);
    return { cost: Math.min(sum.cost, maxTold), taken: Math.min(sum.taken, maxTold) };
  }

  /** Spends what was not known when the events were published. */
  #learn(accountId: string, { cost, taken }: Sum): void {
    this.#pace.spend(accountId, Math.max(0, cost - taken * (this.#further.get(accountId) ?? 0)));
    this.#further.set(accountId, cost / taken);
  }

  #tell(account: string, sum: { cost: number; taken?: number }): void {
    const told: Message = { from: this.#self, account, ...sum };
    this.#bus.announce(topic, JSON.stringify(told));
  }
}
