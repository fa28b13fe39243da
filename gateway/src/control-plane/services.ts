import {
  ApiError,
  type changeRefusal,
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

/** Time in which a service replies, or is gone. */
export const replyMs = 1_000;
/** Time in which a change is made. */
export const changeMs = 10_000;
/** Time in which processes read their pauses again. */
const spreadMs = 300;
/** Time after which a process that is silent is not waited for any more. */
const forgottenMs = 15_000;

type Requests = ReturnType<typeof operatorRequests<ServiceName>>;
type InputOf<Request> = Request extends InternalRequest<string, infer Input> ? z.input<Input> : never;
type ReplyOf<Request> = Request extends InternalRequest<string, z.ZodType, infer Reply> ? z.output<Reply> : never;

/** Asks services and their processes what operators want to know or change. */
export class Services {
  readonly #bus: Bus;
  /** Time of each process's last reply, by its instance. */
  readonly #heardAtMs = new Map<string, number>();

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** Returns what a service replies. Throws 503 where it does not within 1 s, or 10 s for a change. */
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

  /** Asks each of the services; returns the replies, and those that are gone. */
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
   * Has every process of a service read its pauses again, and gives them a moment for it: no list of processes is complete, since one
   * may have started just now. Whoever replies later hears of the pause over the bus all the same.
   */
  async spreadPauses(service: ServiceName): Promise<void> {
    await this.#bus.askAll(describeProcess, { pausesOf: service }, { isComplete: () => false, timeoutMs: spreadMs });
  }

  /** Returns every process that replies within 1 s, with what of `queue` runs there. */
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

/** Returns what a service replies to a request, for no account; undefined where it does not within 1 s, or `timeoutMs`. */
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
 * Returns the services that are gone: those whose reply is undefined, and the gateway where it does not hear itself over the bus, which is what is gone
 * then.
 */
export async function goneOf(bus: Bus, replies: { [Name in ServiceName]?: unknown }): Promise<ServiceName[]> {
  const silent = serviceNames.filter((name) => name in replies && replies[name] === undefined);
  if (silent.length === 0) return [];
  const isComplete = (reports: readonly ProcessReport[]) => reports.length > 0;
  const heard = await bus.askAll(describeProcess, {}, { isComplete, timeoutMs: replyMs });
  return heard.length > 0 ? silent : ['gateway', ...silent];
}

/** Throws what a service refuses a change with, if it does. */
export function throwRefusal(refusal: z.output<typeof changeRefusal>): void {
  if (refusal) throw new ApiError(refusal.code, refusal.message, { field: refusal.field ?? undefined });
}

/** Returns the service of this name. Throws 404, which says which there are. */
export function serviceNamed(name: string): ServiceName {
  const service = serviceNames.find((known) => known === name);
  if (!service) throw new ApiError('not_found', `There is no service ${name}; there are: ${serviceNames.join(', ')}`);
  return service;
}

/** The refusal for a queue that is not there: it says which are. */
export function noSuchQueue(service: ServiceName, queue: string, queues: readonly string[]): ApiError {
  return new ApiError('not_found', `${service} has no queue ${queue}; it has: ${[...queues].sort().join(', ')}`);
}

/** The refusal of a request for a service that is gone. */
export const gone = (service: ServiceName) =>
  serviceUnavailable(`${service} does not respond; try again once it is running`);

/** Throws 404 where a request names an account that there is not. */
export async function requireAccount(sql: Sql, account: string | undefined): Promise<void> {
  if (account !== undefined && !(await findAccountRow(sql, account)))
    throw new ApiError('not_found', `There is no account ${account}`);
}
