import { randomUUID } from 'node:crypto';
import { Agent, type ClientRequest, request as httpRequest } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Made, SoakCustomer, SoakRequest } from './soak-customers.ts';

const connections = 32;
/** Most requests under way; while the platform is being killed they wait for each other. */
const mostUnderWay = 200;
const timeoutMs = 30_000;
/** Times that a client repeats a request that failed, with its Idempotency-Key, and the pause before. */
const repeats = 10;
const pauseMs = 1_000;
/** Part of the clients that go away before they have their response, half of them from a stream; streams live so long at most. */
const leaving = 0.1;
const streamMs = 5_000;
const eventStream: SoakRequest = { method: 'GET', path: '/v1/events/stream' };

/** A response as far as it is looked at. */
interface Reply {
  status: number;
  id?: string;
}

/** Mixed traffic of several customers at a steady rate. Clients repeat what fails; a tenth of them go away in the middle of it. */
export class SoakLoad {
  sent = 0;
  left = 0;
  /** Requests that were repeated since the platform was being killed, and those that failed for good, by their outcome. */
  repeated = 0;
  readonly failures = new Map<string, number>();
  /** Resources that a response said were made. */
  readonly made: { kind: Made; id: string }[] = [];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: connections, scheduling: 'fifo' });
  readonly #gatewayUrl: string;
  readonly #customers: readonly SoakCustomer[];

  constructor(gatewayUrl: string, customers: readonly SoakCustomer[]) {
    this.#gatewayUrl = gatewayUrl;
    this.#customers = customers;
  }

  /** Sends so many requests a second for `forMs`, and waits for their ends. */
  async run(perSecond: number, forMs: number): Promise<void> {
    const pending = new Set<Promise<void>>();
    const began = performance.now();
    for (let started = 0; performance.now() - began < forMs; await sleep(5)) {
      const due = ((performance.now() - began) * perSecond) / 1_000;
      // What could not be sent while others waited is left out: a backlog of our own would be a load of its own.
      for (; started < due; started++) {
        if (pending.size >= mostUnderWay) continue;
        const one: Promise<void> = this.#one(this.sent++).finally(() => pending.delete(one));
        pending.add(one);
      }
    }
    await Promise.all(pending);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #one(index: number): Promise<void> {
    const { key, next } = this.#customers[index % this.#customers.length]!;
    const request = next();
    if (Math.random() < leaving) return await this.#leave(key, request);
    const idempotencyKey = request.method === 'POST' ? randomUUID() : undefined;
    for (let attempt = 0; ; attempt++) {
      const reply = await this.#send(key, request, idempotencyKey).catch((error: Error) => error);
      if (!(reply instanceof Error) && reply.status < 300) {
        if (request.makes) this.made.push({ kind: request.makes, id: reply.id! });
        return;
      }
      const isRefused = !(reply instanceof Error) && reply.status < 500 && reply.status !== 429;
      if (isRefused || attempt === repeats) return this.#fail(request, reply);
      this.repeated++;
      await sleep(pauseMs);
    }
  }

  #fail({ method, path }: SoakRequest, outcome: Error | Reply): void {
    const what = `${method} ${path.split('?', 1)[0]}: ${outcome instanceof Error ? outcome.message : outcome.status}`;
    this.failures.set(what, (this.failures.get(what) ?? 0) + 1);
  }

  /** Sends a request, or opens a stream of events, and goes away before it is done. */
  async #leave(key: string, request: SoakRequest): Promise<void> {
    this.left++;
    const isStream = Math.random() < 0.5;
    const sent = this.#begin(key, isStream ? eventStream : request);
    sent.on('response', (response) => response.resume().on('error', () => undefined)).on('error', () => undefined);
    await sleep(isStream ? Math.random() * streamMs : Math.random() * 30);
    sent.destroy();
  }

  #begin(key: string, { method, path, body }: SoakRequest, idempotencyKey?: string): ClientRequest {
    const text = body && JSON.stringify(body);
    const headers: Record<string, string | number> = {
      authorization: `Bearer ${key}`,
      ...(text && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
    };
    const agent = path === eventStream.path ? false : this.#agent;
    return httpRequest(`${this.#gatewayUrl}${path}`, { agent, method, headers, timeout: timeoutMs }).end(text);
  }

  async #send(key: string, request: SoakRequest, idempotencyKey: string | undefined): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const sent = this.#begin(key, request, idempotencyKey);
    sent.on('timeout', () => sent.destroy(new Error('timeout'))).on('error', reject);
    sent.on('response', (response) => {
      const status = response.statusCode!;
      json(response).then((body) => resolve({ status, id: (body as { id: string }).id }), reject);
    });
    return await promise;
  }
}
