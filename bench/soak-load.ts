import { randomUUID } from 'node:crypto';
import { Agent, type ClientRequest, request as httpRequest } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Made, SoakCustomer, SoakRequest } from './soak-customers.ts';

const connections = 32;
/** Maximum concurrent requests; the limit is reached while parts of the platform are down. */
const mostUnderWay = 200;
const timeoutMs = 30_000;
/** How often a client repeats a failed request with its Idempotency-Key, and the pause before each repetition. */
const repeats = 10;
const pauseMs = 1_000;
/** Share of clients that disconnect before their response, half of them from a stream, and the maximum duration of a stream. */
const leaving = 0.1;
const streamMs = 5_000;
const eventStream: SoakRequest = { method: 'GET', path: '/v1/events/stream' };

/** The parts of a response that are used. */
interface Reply {
  status: number;
  id?: string;
}

/** Mixed traffic of several customers at a steady rate. Clients repeat failed requests; a tenth of them disconnect before the response. */
export class SoakLoad {
  sent = 0;
  left = 0;
  /** Number of repeated requests, and the requests that failed permanently, counted by outcome. */
  repeated = 0;
  readonly failures = new Map<string, number>();
  /** Resources that were created according to a response. */
  readonly made: { kind: Made; id: string }[] = [];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: connections, scheduling: 'fifo' });
  readonly #gatewayUrl: string;
  readonly #customers: readonly SoakCustomer[];

  constructor(gatewayUrl: string, customers: readonly SoakCustomer[]) {
    this.#gatewayUrl = gatewayUrl;
    this.#customers = customers;
  }

  /** Sends requests at the given rate for `forMs`, and waits until all have ended. */
  async run(perSecond: number, forMs: number): Promise<void> {
    const pending = new Set<Promise<void>>();
    const began = performance.now();
    for (let started = 0; performance.now() - began < forMs; await sleep(5)) {
      const due = ((performance.now() - began) * perSecond) / 1_000;
      // Requests that could not be sent in time are skipped: a backlog in the client would be an additional load.
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

  /** Sends a request or opens a stream of events, and disconnects before it is complete. */
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
