import { moveClock, operatorRequests, type ServiceName } from '@customer-platform/contracts/core';
import { type Bus, serviceUnavailable } from '@customer-platform/service-kit';

/** Time in which a service says what a clock has to wait for, in milliseconds; longer than that of a statement. */
const lookMs = 6_000;
/** Time in which a process of every service goes by a moved clock. */
const moveMs = 2_000;

/** Returns the services as clocks ask them. `names` are those that have an address, to which the gateway is added. */
export function clockedServices(bus: Bus, names: readonly ServiceName[]) {
  const all: readonly ServiceName[] = ['gateway', ...names];
  const missing = (replies: readonly { service: ServiceName }[]) =>
    all.filter((name) => !replies.some(({ service }) => service === name));
  return {
    /** Returns the position of the newest event in the stream. Throws where the bus does not say. */
    position: () => bus.position(),
    /**
     * Asks every service what the clock of an account waits for; where there may be events on their way up to a position of the stream, also
     * whether its consumers have taken them. Throws 503 where one does not reply: the clock waits for it.
     */
    look: (accountId: string, position: number | null) =>
      Promise.all(all.map((name) => bus.ask(operatorRequests(name).lookAtClock, accountId, { position }, lookMs))),
    /** Moves a clock in every process. Throws 503 where a service has none that says so: its database has the move then. */
    async move(account: string, aheadMs: number): Promise<void> {
      const isComplete = (replies: readonly { service: ServiceName }[]) => missing(replies).length === 0;
      const left = missing(await bus.askAll(moveClock, { account, aheadMs }, { isComplete, timeoutMs: moveMs }));
      if (left.length > 0) throw serviceUnavailable(`the clock waits for ${left.join(', ')}`);
    },
  };
}
