import { adminOperations } from '@customer-platform/contracts/accounts';
import type { Operation } from '@customer-platform/contracts/core';
import { z } from 'zod';
import {
  type ControlPlane,
  failureOf,
  type Received,
  type Refusal,
  readResponse,
  send,
} from './control-plane-client.ts';
import type { TopState } from './top-screen.ts';

/** Deadline of a request. Until then its part is not requested again, so that no more than three are under way. */
const deadlineMs = 5_000;
/** The largest page: of more failing endpoints the view says that there are more. */
const maxEndpoints = 100;

/** The three responses that the live view is made of, and why the latest of them are missing. */
export class Overview {
  readonly #url: string;
  readonly #queues;
  readonly #endpoints;
  readonly #services;

  constructor(plane: ControlPlane, ended: AbortSignal) {
    const { listQueues, listEndpoints, listServices } = adminOperations;
    this.#url = plane.url;
    this.#queues = new Latest(listQueues, (signal) => get(plane, listQueues, {}, signal), ended);
    const failing = { failing: true, limit: maxEndpoints };
    this.#endpoints = new Latest(listEndpoints, (signal) => get(plane, listEndpoints, failing, signal), ended);
    this.#services = new Latest(listServices, (signal) => get(plane, listServices, {}, signal), ended);
  }

  /** Requests each part again that is not being requested. Resolves when all have their outcome. */
  async refresh(): Promise<void> {
    await Promise.all(this.#parts().map((part) => part.refresh()));
  }

  /** Returns the latest of each part for the screen, however old. */
  state(): TopState {
    const newest = this.#newest();
    const refusal = this.#parts().find((part) => part.refusal !== undefined)?.refusal;
    return {
      url: this.#url,
      queues: this.#queues.body,
      endpoints: this.#endpoints.body,
      services: this.#services.body,
      problem: refusal && textOf(refusal),
      now: newest?.now,
      staleSeconds: newest === undefined ? 0 : (performance.now() - newest.atMs) / 1000,
    };
  }

  /** Returns the same for machines: null for a part of which the latest request failed, with the reason in `errors`. */
  line() {
    return {
      at: this.#newest()?.now?.toISOString() ?? null,
      queues: this.#queues.current(),
      endpoints: this.#endpoints.current(),
      services: this.#services.current(),
      errors: this.#parts().flatMap(({ key, refusal }) => (refusal ? [{ operation: key, ...refusal }] : [])),
    };
  }

  #parts() {
    return [this.#queues, this.#endpoints, this.#services];
  }

  #newest() {
    const arrivals = this.#parts().flatMap(({ arrival }) => (arrival ? [arrival] : []));
    return arrivals.toSorted((one, other) => other.atMs - one.atMs)[0];
  }
}

async function get(plane: ControlPlane, operation: Operation, fields: Record<string, unknown>, signal: AbortSignal) {
  return await send(plane, operation, { path: operation.path, fields }, signal);
}

function textOf({ code, message }: Refusal): string {
  return code === 'service_unavailable' ? message : `refused (${code}): ${message}`;
}

/** The latest outcome of one request that is repeated. */
class Latest<Schema extends z.ZodType> {
  readonly key: string;
  readonly #response: Schema;
  readonly #request: (signal: AbortSignal) => Promise<Received>;
  readonly #ended: AbortSignal;
  #underWay: Promise<void> | undefined;
  #raw: unknown;
  /** The last body that came, however long ago. */
  body: z.output<Schema> | undefined;
  /** Time of the last response that was no refusal: the control plane's, and this process's monotonic one. */
  arrival: { now: Date | undefined; atMs: number } | undefined;
  /** The reason that the latest request brought nothing. */
  refusal: Refusal | undefined;

  constructor(
    { key, response }: { key: string; response: Schema },
    request: (signal: AbortSignal) => Promise<Received>,
    ended: AbortSignal,
  ) {
    this.key = key;
    this.#response = response;
    this.#request = request;
    this.#ended = ended;
  }

  refresh(): Promise<void> {
    this.#underWay ??= this.#ask().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  /** Returns the body as it came with the latest request; null if that failed. */
  current(): unknown {
    return this.refusal ? null : (this.#raw ?? null);
  }

  async #ask(): Promise<void> {
    try {
      const received = await this.#request(AbortSignal.any([this.#ended, AbortSignal.timeout(deadlineMs)]));
      const outcome = readResponse(received);
      this.refusal = 'refusal' in outcome ? outcome.refusal : undefined;
      if ('refusal' in outcome) return;
      const parsed = this.#response.safeParse(outcome.body);
      if (!parsed.success) {
        const message = `the response of ${this.key} is of another version: ${z.prettifyError(parsed.error)}`;
        this.refusal = { code: 'service_unavailable', message };
        return;
      }
      this.#raw = outcome.body;
      this.body = parsed.data;
      this.arrival = { now: received.now, atMs: performance.now() };
    } catch (error) {
      this.refusal = failureOf(error);
    }
  }
}
