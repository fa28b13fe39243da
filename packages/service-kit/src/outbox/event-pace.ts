import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Bus } from '../bus/bus.ts';
import { AccountPace } from '../fairness/account-pace.ts';
import type { Logger } from '../telemetry/logging.ts';

/**
 * What the events of one account may cost in a second, in events without an endpoint: a twentieth of the time of the consumer that takes
 * those of all accounts, so that those of others never wait long behind what one account changes at once, neither here nor in the stream.
 */
const perAccountASecond = 1_000;

const topic = 'event-pace';
/** Cost from which the other processes are told, within a second: nobody needs to hear of less. */
const toldFrom = 100;
const toldWithinMs = 1_000;
/** Bounds of what is believed of another process: a message may be forged by a service that was taken over. */
const maxTold = 20_000;
/** Most that a public event costs beside what an event does: an account has at most twenty endpoints. */
const maxFurther = 10;
const maxAccounts = 10_000;

const Message = z.object({
  from: z.string(),
  account: z.uuid(),
  /** Negative where events turned out to cost less than was spent for them. */
  cost: z.number().min(-maxTold).max(maxTold),
  /** Further cost of a public event from now on. */
  further: z.number().min(0).max(maxFurther).optional(),
});
type Message = z.infer<typeof Message>;

/** Public events that were taken: their number, what taking them cost, and what of it was spent when they were published. */
interface TakenCost {
  events: number;
  cost: number;
  paid: number;
}

/**
 * Pace of each account's events, the same in all processes of all services: what an account gets of one, it has less of in the others. What taking
 * a public event costs beside it, such as its deliveries, is known once it is taken: it is spent then, and what follows costs as much already when it
 * is published, which the event says. A process tells the others of 100 in a second or more; without the bus each goes by what it knows.
 */
export class EventPace {
  readonly #bus: Pick<Bus, 'announce'>;
  readonly #self = randomUUID();
  readonly #pace: AccountPace;
  /** Further cost of a public event of each account, as it was last. */
  readonly #further = new LRUCache<string, number>({ max: maxAccounts });
  /** Costs of this second that the others do not know of. */
  readonly #published: LRUCache<string, number>;
  readonly #taken: LRUCache<string, TakenCost>;

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
        const told = Message.parse(JSON.parse(payload));
        if (told.from !== this.#self) this.#note(told);
      } catch (error) {
        log.warn({ err: error }, 'invalid message about the pace of events');
      }
    });
  }

  /** Returns what a public event of an account costs beside what every event does: to be spent with it, and said by it. */
  furtherOf(accountId: string): number {
    return this.#further.get(accountId) ?? 0;
  }

  /** Notes what events of an account cost that were published; it may be more than it had, and has to wait then. */
  published(accountId: string, cost: number): void {
    this.#pace.spend(accountId, cost);
    const untold = (this.#published.get(accountId) ?? 0) + cost;
    if (untold < toldFrom) {
      this.#published.set(accountId, untold);
      return;
    }
    this.#published.delete(accountId);
    this.#tell({ account: accountId, cost: bounded(untold) });
  }

  /** Notes what taking public events of an account cost. */
  took(accountId: string, { events, cost, paid }: TakenCost): void {
    const before = this.#taken.get(accountId) ?? { events: 0, cost: 0, paid: 0 };
    const sum = { events: before.events + events, cost: before.cost + cost, paid: before.paid + paid };
    if (Math.abs(sum.cost - sum.paid) < toldFrom) {
      this.#taken.set(accountId, sum);
      return;
    }
    this.#taken.delete(accountId);
    const further = Math.min(sum.cost / sum.events, maxFurther);
    const told = { account: accountId, cost: bounded(sum.cost - sum.paid), further };
    this.#note(told);
    this.#tell(told);
  }

  /** Returns the accounts whose events have to wait. */
  waiting(): string[] {
    return this.#pace.waiting();
  }

  /** Returns the milliseconds until the first of them may go on. */
  waitMs(): number {
    return this.#pace.waitMs();
  }

  #note({ account, cost, further }: Omit<Message, 'from'>): void {
    this.#pace.spend(account, cost);
    if (further !== undefined) this.#further.set(account, further);
  }

  #tell(told: Omit<Message, 'from'>): void {
    const message: Message = { from: this.#self, ...told };
    this.#bus.announce(topic, JSON.stringify(message));
  }
}

const bounded = (cost: number) => Math.max(-maxTold, Math.min(cost, maxTold));
