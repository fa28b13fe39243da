import { type ClockLook, moveClock, operatorRequests, type ServiceName } from '@customer-platform/contracts/core';
import { serviceUnavailable, withTimeout } from '@customer-platform/service-kit';
import type { Cells } from '../cells/cells.ts';

/** Time in which a service says what a clock has to wait for; longer than that of a statement. */
const lookMs = 6_000;
/** Time in which every process goes by a moved clock, and after which one that is silent is not waited for any more. */
const moveMs = 2_000;
const forgottenMs = 15_000;

type LookHere = (accountId: string, position: number | null) => Promise<ClockLook>;

/** The services of the cells, as clocks ask them. */
export class CellServices {
  readonly #cells: Cells;
  readonly #servicesOf: (cell: string) => readonly ServiceName[];
  readonly #lookHere: LookHere;
  /** Processes by their instance, with the time of their last reply on the monotonic clock. */
  readonly #heard = new Map<string, { cell: string; atMs: number }>();

  /**
   * @param servicesOf returns the services that have an address in a cell, without the gateway
   * @param lookHere returns what the clock of an account waits for in the gateway
   */
  constructor(cells: Cells, servicesOf: (cell: string) => readonly ServiceName[], lookHere: LookHere) {
    this.#cells = cells;
    this.#servicesOf = servicesOf;
    this.#lookHere = lookHere;
  }

  /** Returns the position of the newest event in the stream of a cell. Throws where its bus does not say. */
  async position(cell: string): Promise<number> {
    return await this.#cells.named(cell).bus.position();
  }

  /**
   * Asks every service of a cell what the clock of an account waits for; where there may be events on their way up to a position of the
   * stream, also whether its consumers have taken them. Throws 503 where one does not reply: the clock waits for it.
   */
  async look(cell: string, accountId: string, position: number | null): Promise<ClockLook[]> {
    const { bus } = this.#cells.named(cell);
    const looks = this.#servicesOf(cell).map((service) =>
      bus.ask(operatorRequests(service).lookAtClock, accountId, { position }, lookMs),
    );
    // The gateway's own work needs no bus to be looked at, which would be the main cell's.
    const late = () => serviceUnavailable('the clock waits for the gateway');
    return await Promise.all([...looks, withTimeout(lookMs, this.#lookHere(accountId, position), late)]);
  }

  /** Moves a clock in every process of a cell. Throws 503 where a service has none that does, and for one that was there a moment ago. */
  async move(cell: string, accountId: string, aheadMs: number): Promise<void> {
    const sinceMs = performance.now() - forgottenMs;
    for (const [instance, { atMs }] of this.#heard) if (atMs < sinceMs) this.#heard.delete(instance);
    const { bus, name } = this.#cells.named(cell);
    const inCell = [...this.#servicesOf(cell), ...(name === this.#cells.main.name ? (['gateway'] as const) : [])];
    const known = [...this.#heard].filter(([, heard]) => heard.cell === cell).map(([instance]) => instance);
    const missing = (replies: readonly { service: ServiceName; instance: string }[]) => {
      const services = new Set(replies.map(({ service }) => service));
      const instances = new Set(replies.map(({ instance }) => instance));
      return [...inCell.filter((each) => !services.has(each)), ...known.filter((each) => !instances.has(each))];
    };
    const until = { isComplete: (replies: never) => missing(replies).length === 0, timeoutMs: moveMs };
    const replies = await bus.askAll(moveClock, { account: accountId, aheadMs }, until);
    for (const { instance } of replies) this.#heard.set(instance, { cell, atMs: performance.now() });
    const left = missing(replies);
    if (left.length > 0) throw serviceUnavailable(`the clock waits for ${left.join(', ')}`);
  }
}
