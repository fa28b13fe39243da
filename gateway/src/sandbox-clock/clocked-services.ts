import { moveClock, operatorRequests, type ServiceName } from '@customer-platform/contracts/core';
import { type Bus, serviceUnavailable } from '@customer-platform/service-kit';

/** Timeout for a service to report what a clock waits for, in milliseconds. Longer than the timeout of a statement. */
const lookMs = 6_000;
/** Timeout for a process of every service to apply a moved clock. */
const moveMs = 2_000;

/** Returns the services in the form that clocks need. `names` are those with an address; the gateway is added. */
export function clockedServices(bus: Bus, names: readonly ServiceName[]) {
  const all: readonly ServiceName[] = ['gateway', ...names];
  const missing = (replies: readonly { service: ServiceName }[]) =>
    all.filter((name) => !replies.some(({ service }) => service === name));
  return {
    /** Returns the position of the newest event in the stream. Throws if the bus does not reply. */
    position: () => bus.position(),
    /**
     * Asks every service what the clock of an account waits for. With a position of the stream, also asks whether the
     * service's consumers have passed it. Throws 503 if a service does not reply, and the clock waits for it.
     */
    look: (accountId: string, position: number | null) =>
      Promise.all(all.map((name) => bus.ask(operatorRequests(name).lookAtClock, accountId, { position }, lookMs))),
    /** Moves a clock in every process. Throws 503 if no process of a service confirms; the service's database then has the move. */
    async move(account: string, aheadMs: number): Promise<void> {
      const isComplete = (replies: readonly { service: ServiceName }[]) => missing(replies).length === 0;
      const left = missing(await bus.askAll(moveClock, { account, aheadMs }, { isComplete, timeoutMs: moveMs }));
      if (left.length > 0) throw serviceUnavailable(`the sandbox clock waits for ${left.join(', ')}`);
    },
  };
}
