import { type ClockLook, moveClock, operatorRequests, type ServiceName } from '@customer-platform/contracts/core';
import { type Bus, type ClockWork, serviceUnavailable, withTimeout } from '@customer-platform/service-kit';

/** Time in which a service says what a clock has to wait for, in milliseconds; longer than that of a statement. */
const lookMs = 6_000;
/** Time in which a process of every service goes by a moved clock. */
const moveMs = 2_000;

/** The services, the gateway too, as clocks ask them. */
export interface ClockedServices {
  /** Returns the position of the newest event in the stream. Throws where the bus does not say. */
  position(): Promise<number>;
  /**
   * Asks every service what the clock of an account waits for; where there may be events on their way up to a position of the stream, also
   * whether its consumers have taken them. Throws 503 where one does not reply: the clock waits for it.
   */
  look(accountId: string, position: number | null): Promise<ClockLook[]>;
  /** Moves a clock in every process. Throws 503 where a service has none that says so: its database has the move then. */
  move(accountId: string, aheadMs: number): Promise<void>;
}

/** @param names the services that have an address, without the gateway, whose work is `own` */
export function clockedServices(
  bus: Bus,
  own: Pick<ClockWork, 'look'>,
  names: readonly ServiceName[],
): ClockedServices {
  const missing = (replies: readonly { service: ServiceName }[]) => {
    const moved = new Set(replies.map(({ service }) => service));
    return ['gateway' as const, ...names].filter((each) => !moved.has(each));
  };
  return {
    position: () => bus.position(),
    async look(accountId, position) {
      const looks = names.map((name) => bus.ask(operatorRequests(name).lookAtClock, accountId, { position }, lookMs));
      const late = () => serviceUnavailable('the clock waits for the gateway');
      return await Promise.all([...looks, withTimeout(lookMs, own.look(accountId, position), late)]);
    },
    async move(account, aheadMs) {
      const isComplete = (replies: readonly { service: ServiceName }[]) => missing(replies).length === 0;
      const left = missing(await bus.askAll(moveClock, { account, aheadMs }, { isComplete, timeoutMs: moveMs }));
      if (left.length > 0) throw serviceUnavailable(`the clock waits for ${left.join(', ')}`);
    },
  };
}
