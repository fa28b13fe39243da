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
/** Cost from which the other processes are told, within a second: nobody needs to hear of less. */
const toldFrom = 100;
const toldWithinMs = 1_000;
/** Bounds of what is believed of another process: a message may be forged by a service that was taken over. */
const maxToldCost = 20_000;
const maxAccounts = 10_000;

const Message = z.object({ from: z.string(), account: z.uuid(), cost: z.number().positive().max(maxToldCost) });
type Message = z.infer<typeof Message>;

/**
 * Pace of each account's events, the same in all processes of all services: what an account gets of one, it has less of in the others. A
 * process tells them of 100 in a second or more; without the bus each goes by what it knows.
 */
export class EventPace {
  readonly #bus: Pick<Bus, 'announce'>;
  readonly #self = randomUUID();
  readonly #pace: AccountPace;
  /** Costs of this second that the others do not know of. */
  readonly #untold: LRUCache<string, number>;

  constructor(bus: Pick<Bus, 'announce' | 'listen'>, log: Logger, nowMs = () => performance.now()) {
    this.#bus = bus;
    this.#pace = new AccountPace(perAccountASecond, nowMs);
    const second = { ttl: toldWithinMs, noUpdateTTL: true, ttlResolution: 0, perf: { now: nowMs } };
    this.#untold = new LRUCache({ max: maxAccounts, ...second });
    bus.listen(topic, (payload) => {
      try {
        const { from, account, cost } = Message.parse(JSON.parse(payload));
        if (from !== this.#self) this.#pace.spend(account, cost);
      } catch (error) {
        log.warn({ err: error }, 'invalid message about the pace of events');
      }
    });
  }

  /** Notes what events of an account cost; it may be more than it had, and has to wait then. */
  spend(accountId: string, cost: number): void {
    this.#pace.spend(accountId, cost);
    const untold = (this.#untold.get(accountId) ?? 0) + cost;
    if (untold < toldFrom) {
      this.#untold.set(accountId, untold);
      return;
    }
    this.#untold.delete(accountId);
    const told: Message = { from: this.#self, account: accountId, cost: Math.min(untold, maxToldCost) };
    this.#bus.announce(topic, JSON.stringify(told));
  }

  /** Returns the accounts whose events have to wait. */
  waiting(): string[] {
    return this.#pace.waiting();
  }

  /** Returns the milliseconds until the first of them may go on. */
  waitMs(): number {
    return this.#pace.waitMs();
  }
}
