import {
  ApiError,
  type changeError,
  describeProcess,
  type InternalRequest,
  operatorRequests,
  type ProcessReport,
  type ServiceName,
  serviceNames,
} from '@customer-platform/contracts/core';
import { type Bus, isUnavailable, noAccount, type Sql, serviceUnavailable } from '@customer-platform/service-kit';
import type { z } from 'zod';
import { findAccountRow } from '../accounts/accounts.sql.ts';

/** Time for a service to reply before it counts as gone. */
export const replyMs = 1_000;
/** Time for a service to make a change. */
export const changeMs = 10_000;
/** Time for processes to read their pauses again. */
const spreadMs = 300;
/** Time after which `processes` stops waiting for a silent process. */
const forgottenMs = 15_000;

type Requests = ReturnType<typeof operatorRequests<ServiceName>>;
type InputOf<Request> = Request extends InternalRequest<string, infer Input> ? z.input<Input> : never;
type ReplyOf<Request> = Request extends InternalRequest<string, z.ZodType, infer Reply> ? z.output<Reply> : never;

/** Sends the requests of operators to services and their processes. */
export class Services {
  readonly #bus: Bus;
  /** Time of each process's last reply, by its instance. */
  readonly #heardAtMs = new Map<string, number>();

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** Returns the reply of a service. Throws 503 if it does not reply within 1 s, or 10 s for a change. */
  async ask<Key extends keyof Requests>(
    service: ServiceName,
    key: Key,
    input: InputOf<Requests[Key]>,
    isChange: 'change' | 'read' = 'read',
  ): Promise<ReplyOf<Requests[Key]>> {
    const request = operatorRequests(service)[key] as InternalRequest;
    const reply = await this.#bus.ask(request, noAccount, input, isChange === 'change' ? changeMs : replyMs);
    return reply as ReplyOf<Requests[Key]>;
  }

  /** Asks each service; returns the replies and the services that are gone. */
  async askEach<Key extends keyof Requests>(
    key: Key,
    input: InputOf<Requests[Key]>,
    services: readonly ServiceName[] = serviceNames,
    isChange: 'change' | 'read' = 'read',
  ) {
    const replies = await Promise.all(
      services.map(async (service) => {
        const reply = await this.ask(service, key, input, isChange).catch(() => undefined);
        return { service, reply };
      }),
    );
    return {
      replies: replies.flatMap(({ service, reply }) => (reply === undefined ? [] : [{ service, reply }])),
      gone: replies.filter(({ reply }) => reply === undefined).map(({ service }) => service),
    };
  }

  /**
   * Makes every process of a service read its pauses again, and waits 300 ms. It cannot wait for a list of processes,
   * because one may have just started. A process that replies later still receives the pause over the bus.
   */
  async spreadPauses(service: ServiceName): Promise<void> {
    await this.#bus.askAll(describeProcess, { pausesOf: service }, { isComplete: () => false, timeoutMs: spreadMs });
  }

  /** Returns every process that replies within 1 s, with its running entries of `queue`. */
  async processes(queue?: { service: ServiceName; queue: string }): Promise<ProcessReport[]> {
    const sinceMs = performance.now() - forgottenMs;
    for (const [instance, atMs] of this.#heardAtMs) if (atMs < sinceMs) this.#heardAtMs.delete(instance);
    const isComplete = (replies: readonly ProcessReport[]) => {
      const instances = new Set(replies.map(({ instance }) => instance));
      const services = new Set(replies.map(({ service }) => service));
      return services.size === serviceNames.length && this.#heardAtMs.keys().every((known) => instances.has(known));
    };
    const replies = await this.#bus.askAll(describeProcess, queue ? { queue } : {}, { isComplete, timeoutMs: replyMs });
    for (const { instance } of replies) this.#heardAtMs.set(instance, performance.now());
    return replies;
  }
}

/** Returns a service's reply to a request for no account. Returns undefined without a reply within 1 s, or `timeoutMs`. */
export async function askOrGone<Request extends InternalRequest>(
  bus: Bus,
  request: Request,
  input: z.input<Request['input']>,
  timeoutMs = replyMs,
): Promise<z.output<Request['reply']> | undefined> {
  try {
    return await bus.ask(request, noAccount, input, timeoutMs);
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}

/**
 * Returns the services that are gone, whose reply is undefined. Includes the gateway if it cannot reach itself over the
 * bus, since then the bus is down.
 */
export async function goneOf(bus: Bus, replies: { [Name in ServiceName]?: unknown }): Promise<ServiceName[]> {
  const silent = serviceNames.filter((name) => name in replies && replies[name] === undefined);
  if (silent.length === 0) return [];
  const isComplete = (reports: readonly ProcessReport[]) => reports.length > 0;
  const heard = await bus.askAll(describeProcess, {}, { isComplete, timeoutMs: replyMs });
  return heard.length > 0 ? silent : ['gateway', ...silent];
}

/** Throws a service's refusal of a change, if there is one. */
export function throwRefusal(refusal: z.output<typeof changeError>): void {
  if (refusal) throw new ApiError(refusal.code, refusal.message, { field: refusal.field ?? undefined });
}

/** Returns the service with this name. Throws 404 with the names of all services. */
export function serviceNamed(name: string): ServiceName {
  const service = serviceNames.find((known) => known === name);
  if (!service) throw new ApiError('not_found', `There is no service ${name}; use one of: ${serviceNames.join(', ')}`);
  return service;
}

/** The error for an unknown queue, with the names of the service's queues. */
export function noSuchQueue(service: ServiceName, queue: string, queues: readonly string[]): ApiError {
  return new ApiError('not_found', `${service} has no queue ${queue}; it has: ${[...queues].sort().join(', ')}`);
}

/** The error for a request to a service that is gone. */
export const gone = (service: ServiceName) =>
  serviceUnavailable(`${service} does not respond; try again once it is running`);

/** Throws 404 if a request names an unknown account. */
export async function requireAccount(sql: Sql, account: string | undefined): Promise<void> {
  if (account !== undefined && !(await findAccountRow(sql, account)))
    throw new ApiError('not_found', `There is no account ${account}`);
}
