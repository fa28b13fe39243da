import { type ClockLook, moveClock, operatorRequests, type ServiceName } from '@customer-platform/contracts/core';
import { type Bus, type ClockWork, serviceUnavailable, withTimeout } from '@customer-platform/service-kit';

/** Time in which a service says what a clock has to wait for, in milliseconds; longer than that of a statement. */
const lookMs = 6_000;
/** Time in which a process of every service goes by a moved clock. */
const moveMs = 2_000;

/** The services, the gateway too, as clocks ask them. */
export class ClockedServices {
  readonly #bus: Bus;
  readonly #own: Pick<ClockWork, 'look'>;
  readonly #names: readonly ServiceName[];

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

  /** Moves a clock in every process. Throws 503 where a service has none that says so: its database has the move then. */
  async move(account: string, aheadMs: number): Promise<void> {
    const missing = (replies: readonly { service: ServiceName }[]) => {
      const moved = new Set(replies.map(({ service }) => service));
      return ['gateway' as const, ...this.#names].filter((each) => !moved.has(each));
    };
    const isComplete = (replies: readonly { service: ServiceName }[]) => missing(replies).length === 0;
    const left = missing(await this.#bus.askAll(moveClock, { account, aheadMs }, { isComplete, timeoutMs: moveMs }));
    if (left.length > 0) throw serviceUnavailable(`the clock waits for ${left.join(', ')}`);
  }
}
