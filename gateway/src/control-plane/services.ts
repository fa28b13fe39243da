import {
  ApiError,
  describeProcess,
  type InternalRequest,
  operatorRequests,
  type ProcessReport,
  type ServiceName,
  serviceNames,
} from '@customer-platform/contracts/core';
import { noAccount, serviceUnavailable } from '@customer-platform/service-kit';
import type { z } from 'zod';
import type { Cell, Cells } from '../cells/cells.ts';

/** Time in which a service replies, or is gone. */
const replyMs = 1_000;
/** Time in which a change is made. */
const changeMs = 10_000;
/** Time in which processes read their pauses again. */
const spreadMs = 300;
/** Time after which a process that is silent is not waited for any more. */
const forgottenMs = 15_000;

type Requests = ReturnType<typeof operatorRequests<ServiceName>>;
type InputOf<Request> = Request extends InternalRequest<string, infer Input> ? z.input<Input> : never;
type ReplyOf<Request> = Request extends InternalRequest<string, z.ZodType, infer Reply> ? z.output<Reply> : never;

/** A service of a cell; the gateway belongs to `main`. */
export interface Place {
  cell: string;
  service: ServiceName;
}

/** A process and the cell that it runs in. */
export type PlacedProcess = ProcessReport & { cell: string };

/** Asks services and their processes what operators want to know or change. */
export class Services {
  readonly #cells: Cells;
  /** Time of each process's last reply, and its cell. */
  readonly #heard = new Map<string, { cell: string; atMs: number }>();

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Returns the places of these services, in one cell or in all. Throws 400 for an unknown cell. */
  places(among: readonly ServiceName[] = serviceNames, cell?: string): Place[] {
    const cells = cell === undefined ? this.#cells.all : [this.#cells.named(cell)];
    return cells.flatMap(({ name }) => this.#servicesOf(name, among).map((service) => ({ cell: name, service })));
  }

  /**
   * Returns the place of a service that a request is about: in the cell that it names, else where there is no doubt. Throws 400 with
   * field cell for an unknown cell, and for none where there are several.
   */
  place(service: ServiceName, cell: string | undefined): Place {
    const { all, isSingle, main } = this.#cells;
    const named = cell === undefined ? undefined : this.#cells.named(cell);
    if (isSingle || service === 'gateway') return { cell: main.name, service };
    if (named) return { cell: named.name, service };
    const names = all.map(({ name }) => name).join(', ');
    throw new ApiError('invalid_request', `cell must say where: one of ${names}`, { field: 'cell' });
  }

  /** Returns the services that are gone as responses show them: in which cells where there are several. */
  shownGone(places: readonly Place[]): { gone: ServiceName[]; gone_in?: { service: ServiceName; cell: string }[] } {
    const gone = serviceNames.filter((name) => places.some(({ service }) => service === name));
    return { gone, ...(!this.#cells.isSingle && { gone_in: places.map(({ service, cell }) => ({ service, cell })) }) };
  }

  /** Returns what a service replies. Throws 503 where it does not within 1 s, or 10 s for a change. */
  async ask<Key extends keyof Requests>(
    { cell, service }: Place,
    key: Key,
    input: InputOf<Requests[Key]>,
    isChange: 'change' | 'read' = 'read',
  ): Promise<ReplyOf<Requests[Key]>> {
    const request = operatorRequests(service)[key] as InternalRequest;
    const { bus } = this.#cells.named(cell);
    const reply = await bus.ask(request, noAccount, input, isChange === 'change' ? changeMs : replyMs);
    return reply as ReplyOf<Requests[Key]>;
  }

  /** Asks the service of each place; returns the replies, and the places where it is gone. */
  async askEach<Key extends keyof Requests>(
    key: Key,
    input: InputOf<Requests[Key]>,
    places = this.places(),
    isChange: 'change' | 'read' = 'read',
  ) {
    const replies = await Promise.all(
      places.map(async (place) => {
        const reply = await this.ask(place, key, input, isChange).catch(() => undefined);
        return { place, reply };
      }),
    );
    return {
      replies: replies.flatMap(({ place, reply }) => (reply === undefined ? [] : [{ place, reply }])),
      gone: replies.filter(({ reply }) => reply === undefined).map(({ place }) => place),
    };
  }

  /**
   * Has every process of a service read its pauses again, and gives them a moment for it: no list of processes is complete, since one
   * may have started just now. Whoever replies later hears of the pause over the bus all the same.
   */
  async spreadPauses({ cell, service }: Place): Promise<void> {
    const { bus } = this.#cells.named(cell);
    await bus.askAll(describeProcess, { pausesOf: service }, { isComplete: () => false, timeoutMs: spreadMs });
  }

  /** Returns every process that replies within 1 s, with what of `queue` runs there: of its cell, or of all. */
  async processes(queue?: Place & { queue: string }): Promise<PlacedProcess[]> {
    const sinceMs = performance.now() - forgottenMs;
    for (const [instance, { atMs }] of this.#heard) if (atMs < sinceMs) this.#heard.delete(instance);
    const cells = queue ? [this.#cells.named(queue.cell)] : this.#cells.all;
    const replies = await Promise.all(cells.map((cell) => this.#processesIn(cell, queue)));
    for (const { instance, cell } of replies.flat()) this.#heard.set(instance, { cell, atMs: performance.now() });
    return replies.flat();
  }

  async #processesIn({ name, bus }: Cell, queue: (Place & { queue: string }) | undefined): Promise<PlacedProcess[]> {
    const expected = this.#servicesOf(name).length;
    const known = () => this.#heard.entries().filter(([, { cell }]) => cell === name);
    const isComplete = (replies: readonly ProcessReport[]) => {
      const instances = new Set(replies.map(({ instance }) => instance));
      const services = new Set(replies.map(({ service }) => service));
      return services.size === expected && known().every(([instance]) => instances.has(instance));
    };
    const input = queue ? { queue: { service: queue.service, queue: queue.queue } } : {};
    const replies = await bus.askAll(describeProcess, input, { isComplete, timeoutMs: replyMs });
    return replies.map((reply) => ({ ...reply, cell: name }));
  }

  #servicesOf(cell: string, among: readonly ServiceName[] = serviceNames): ServiceName[] {
    return among.filter((service) => service !== 'gateway' || cell === this.#cells.main.name);
  }
}

/** Returns the service of this name. Throws 404, which says which there are. */
export function serviceNamed(name: string): ServiceName {
  const service = serviceNames.find((known) => known === name);
  if (!service) throw new ApiError('not_found', `There is no service ${name}; there are: ${serviceNames.join(', ')}`);
  return service;
}

/** The refusal of a request for a service that is gone. */
export const gone = ({ service }: Pick<Place, 'service'>) =>
  serviceUnavailable(`${service} does not respond; try again once it is running`);
