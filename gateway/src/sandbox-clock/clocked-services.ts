import { type ClockLook, moveClock, operatorRequests, type ServiceName } from '@customer-platform/contracts/core';
import { type Bus, type ClockWork, serviceUnavailable, withTimeout } from '@customer-platform/service-kit';

/** Time in which a service says what a clock has to wait for; longer than that of a statement. */
const lookMs = 6_000;
/** Time in which every process goes by a moved clock, and after which one that is silent is not waited for any more. */
const moveMs = 2_000;
const forgottenMs = 15_000;

/** The services, the gateway too, as clocks ask them. */
export class ClockedServices {
  readonly #bus: Bus;
  readonly #own: Pick<ClockWork, 'look'>;
  readonly #names: readonly ServiceName[];
  /** Time of each process's last reply, by its instance, on the monotonic clock. */
  readonly #heardAtMs = new Map<string, number>();

  /** @param names the services that have an address, without the gateway, whose work is `own` */
  constructor(bus: Bus, own: Pick<ClockWork, 'look'>, names: readonly ServiceName[]) {
    this.#bus = bus;
    this.#own = own;
    this.#names = names;
  }

  /** Returns the position of the newest event in the stream. Throws where the bus does not say. */
  async position(): Promise<number> {
    return await this.#bus.position();
  }

  /**
   * Asks every service what the clock of an account waits for; where there may be events on their way up to a position of the stream, also
   * whether its consumers have taken them. Throws 503 where one does not reply: the clock waits for it.
   */
  async look(accountId: string, position: number | null): Promise<ClockLook[]> {
    const looks = this.#names.map((service) =>
      this.#bus.ask(operatorRequests(service).lookAtClock, accountId, { position }, lookMs),
    );
    const late = () => serviceUnavailable('the clock waits for the gateway');
    return await Promise.all([...looks, withTimeout(lookMs, this.#own.look(accountId, position), late)]);
  }

  /** Moves a clock in every process. Throws 503 where a service has none that does, and for one that was there a moment ago. */
  async move(accountId: string, aheadMs: number): Promise<void> {
    const sinceMs = performance.now() - forgottenMs;
    for (const [instance, atMs] of this.#heardAtMs) if (atMs < sinceMs) this.#heardAtMs.delete(instance);
    const known = [...this.#heardAtMs.keys()];
    const missing = (replies: readonly { service: ServiceName; instance: string }[]) => {
      const services = new Set(replies.map(({ service }) => service));
      const instances = new Set(replies.map(({ instance }) => instance));
      const names = ['gateway' as const, ...this.#names].filter((each) => !services.has(each));
      return [...names, ...known.filter((each) => !instances.has(each))];
    };
    const until = { isComplete: (replies: never) => missing(replies).length === 0, timeoutMs: moveMs };
    const replies = await this.#bus.askAll(moveClock, { account: accountId, aheadMs }, until);
    for (const { instance } of replies) this.#heardAtMs.set(instance, performance.now());
    const left = missing(replies);
    if (left.length > 0) throw serviceUnavailable(`the clock waits for ${left.join(', ')}`);
  }
}
