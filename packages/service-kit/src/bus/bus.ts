import type { Envelope, EventDefinition, InternalRequest } from '@customer-platform/contracts/core';
import {
  createInbox,
  type Msg,
  type MsgHdrs,
  nanos,
  headers as newHeaders,
  type Subscription,
} from '@nats-io/transport-node';
import type { z } from 'zod';
import { serviceUnavailable } from '../database/database-errors.ts';
import type { Logger } from '../telemetry/logging.ts';
import { inSpan, SpanKind, type TraceHeaders, traceHeaders } from '../telemetry/telemetry.ts';
import { waitUntil, withTimeout } from '../values/with-timeout.ts';
import { BusConnection, type BusSettings } from './bus-connection.ts';
import { type Batches, ConsumeLoop, type ReceivedMessage, traceOf } from './consume-loop.ts';
import { EventStream } from './event-stream.ts';

/** Deadline for a consumer to acknowledge. NATS redelivers an event after it, for example when its process was killed. */
const ackWaitMs = 10_000;
/** Timeout for the stream to store an event. */
const publishTimeoutMs = 5_000;
/** Time that startup waits for NATS. */
const startWaitMs = 2_000;
/** Time that `close` waits for replies to accepted requests. */
const finishMs = 5_000;
/** Bytes reserved for headers within the message limit of NATS. */
const headerBytes = 4_096;

/** Options of a process's bus. */
interface BusOptions {
  /** First token of every subject and name of the stream. */
  prefix: string;
  service: string;
  log: Logger;
  settings?: BusSettings;
  /** Timeout of `ask`; 5 s unless given. */
  requestTimeoutMs?: number;
  /** Returns the lead of an account's clock over real time in milliseconds, sent with each request; 0 unless given. */
  aheadOf?: (accountId: string) => number;
}

export interface PublishedEvent {
  id: string;
  kind: string;
  audience: string;
  sequence: number;
  /** Number of earlier publications, 0 unless given. The stream deduplicates within one round only. */
  rounds?: number;
  envelope: string;
  trace: TraceHeaders | undefined;
}

/** Filters events by audience, service and kind, or a family of kinds such as `contact.*`. An omitted field matches any value. */
export interface EventFilter {
  audience?: 'public' | 'internal';
  service?: string;
  kind?: string;
}

/** A request to every process. */
export interface Broadcast {
  readonly key: string;
  readonly input: z.ZodType;
  readonly reply: z.ZodType;
}

/** The platform's use of NATS: one JetStream stream of events, durable consumers, requests between services, and news. */
export class Bus {
  readonly #connection: BusConnection;
  readonly #stream: EventStream;
  readonly #options: Required<Omit<BusOptions, 'settings'>>;
  /** Subscriptions of `handle` on the current connection by subject, and the replies in progress. */
  readonly #handlers = new Map<string, Subscription>();
  readonly #responding = new Set<Promise<void>>();

  /** Connects to `urls`, and keeps trying in the background after 2 s. Throws if a URL is invalid or a file cannot be read. */
  static async connect(urls: string, options: BusOptions): Promise<Bus> {
    const bus = new Bus(urls, options);
    await waitUntil(() => bus.isConnected(), startWaitMs);
    return bus;
  }

  private constructor(urls: string, options: BusOptions) {
    const { settings = {}, service, log } = options;
    this.#options = { requestTimeoutMs: 5_000, aheadOf: () => 0, ...options };
    this.#connection = new BusConnection(urls, settings, service, log);
    this.#stream = new EventStream(this.#connection, options);
  }

  isConnected(): boolean {
    return this.#connection.isConnected;
  }

  /** Resolves at once if the last publication succeeded, otherwise once NATS responds. Throws if NATS does not respond within 10 s. */
  async ready(): Promise<void> {
    await this.#stream.ensure();
  }

  /** Returns the server's id, new at each server start. Undefined while disconnected and for a cluster, which survives the loss of a server. */
  server(): string | undefined {
    const info = this.isConnected() ? this.#connection.current.info : undefined;
    return info?.cluster ? undefined : info?.server_id;
  }

  /** Returns the subject for events of one kind. */
  subjectOf({ audience, kind }: Pick<PublishedEvent, 'audience' | 'kind'>): string {
    return this.#subject('event', audience, this.#options.service, kind);
  }

  /** Publishes an event and waits until the stream stores it. Throws if that takes more than 5 s. */
  async publish(event: PublishedEvent): Promise<void> {
    await this.#stream.ensure();
    const headers = headersOf({ 'Event-Sequence': String(event.sequence), ...event.trace });
    const msgID = event.rounds ? `${event.id}.${event.rounds}` : event.id;
    const options = { msgID, headers, timeout: publishTimeoutMs };
    try {
      await this.#connection.jetstream.publish(this.subjectOf(event), event.envelope, options);
    } catch (error) {
      this.#stream.forget();
      throw error;
    }
  }

  /**
   * Passes every message that matches `filter` to `take`, one batch at a time, until stopped. NATS redelivers a message that is not acknowledged
   * within `ackMs`, 10 s unless given. The durable consumer keeps its position across restarts. Creates the stream and the consumer if missing.
   */
  consume(
    durable: string,
    filter: EventFilter,
    { ackMs = ackWaitMs, ...batches }: Batches & { ackMs?: number },
    take: (batch: ReceivedMessage[]) => Promise<void>,
  ): ConsumeLoop {
    const name = `${this.#options.service}-${durable.replaceAll('.', '-')}`;
    const subject = this.#subject('event', filter.audience ?? '*', filter.service ?? '*', filter.kind ?? '>');
    const open = async () => {
      await this.#stream.ensure();
      const manager = await this.#connection.manager();
      const info = await manager.consumers.add(this.#options.prefix, {
        durable_name: name,
        filter_subject: subject,
        ack_policy: 'explicit',
        deliver_policy: 'all',
        ack_wait: nanos(ackMs),
        max_ack_pending: Math.max(1_000, batches.size * 4),
      });
      return this.#connection.jetstream.consumers.getConsumerFromInfo(info);
    };
    const info = async () => await (await this.#connection.manager()).consumers.info(this.#options.prefix, name);
    return new ConsumeLoop(durable, { ...batches, log: this.#options.log, durable: { open, info } }, take);
  }

  /** Returns the position of the newest event in the stream. Throws if NATS does not respond. */
  async position(): Promise<number> {
    await this.#stream.ensure();
    const manager = await this.#connection.manager();
    return (await manager.streams.info(this.#options.prefix)).state.last_seq;
  }

  /** Calls `hear` with the account of each new event of one kind, at most once each. Calls `missed` when some may have been missed. */
  follow(event: EventDefinition, hear: (accountId: string) => void, missed: () => void): void {
    const subject = this.#subject('event', event.audience, event.service, event.kind);
    this.#connection.onReconnect(missed);
    this.#subscribe(subject, (message) => hear(message.json<Envelope>().account));
  }

  /** Sends news to all processes that listen to this service's `topic`, including itself. They also poll, in case they miss it. Never throws. */
  publishNews(topic: string, payload = ''): void {
    try {
      if (this.isConnected())
        this.#connection.current.publish(this.#subject('news', this.#options.service, topic), payload);
    } catch (error) {
      this.#options.log.warn({ err: error, news: topic }, 'news could not be published');
    }
  }

  /** Listens to news from the processes of this service. Also calls `hear` on each new connection, since news may have been missed. */
  onPeerNews(topic: string, hear: () => void): void {
    this.#connection.onReconnect(hear);
    this.onNews(this.#options.service, topic, hear);
  }

  /** Listens to news from the processes of a service. */
  onNews(service: string, topic: string, hear: (payload: string) => void): void {
    this.#subscribe(this.#subject('news', service, topic), (message) => hear(message.string()));
  }

  /** Calls `back` on each new connection. News published since the last connection is lost. */
  onReconnect(back: () => void): void {
    this.#connection.onReconnect(back);
  }

  /** Asks another service and returns its reply. Throws 503 service_unavailable without a reply within `timeoutMs`. */
  async ask<Request extends InternalRequest>(
    request: Request,
    accountId: string,
    input: z.input<Request['input']>,
    timeoutMs = this.#options.requestTimeoutMs,
  ): Promise<z.output<Request['reply']>> {
    const subject = this.#subject('request', request.service, request.key);
    return await inSpan(`request ${subject}`, spanOptions(SpanKind.CLIENT, subject), async () => {
      // The handler may not know the account's latest clock yet. It works at the asker's time or later.
      const aheadMs = this.#options.aheadOf(accountId);
      const payload = { account_id: accountId, input, ...(aheadMs > 0 ? { ahead_ms: aheadMs } : {}) };
      const options = { noMux: true, headers: headersOf(traceHeaders()), timeout: timeoutMs };
      // The client's own timeout stops when its connection closes.
      const asking = async () => {
        const { current } = this.#connection;
        const body = JSON.stringify(payload);
        // The client rejects an oversized payload only after it starts to wait for the reply.
        const most = current.info!.max_payload - headerBytes;
        if (Buffer.byteLength(body) > most) throw new Error(`the request must not exceed ${most} bytes`);
        return await withTimeout(timeoutMs, current.request(subject, body, options));
      };
      const message = await asking().catch((cause: unknown) => {
        throw serviceUnavailable(`${request.service} does not respond; try again shortly`, cause);
      });
      if (message.headers?.get('Failed'))
        throw serviceUnavailable(`${request.service} could not respond; try again shortly`);
      return request.reply.parse(message.json()) as z.output<Request['reply']>;
    });
  }

  /**
   * Handles an internal request. The processes of one service share the requests. `aheadMs` is the lead of the account's clock over
   * real time, as far as the asker knows.
   */
  handle<Request extends InternalRequest>(
    request: Request,
    handle: (
      accountId: string,
      input: z.output<Request['input']>,
      aheadMs: number,
    ) => Promise<z.input<Request['reply']>>,
  ): void {
    const { service, log } = this.#options;
    const subject = this.#subject('request', request.service, request.key);
    const respond = async (message: Msg) => {
      const traced = { ...spanOptions(SpanKind.SERVER, subject), parent: traceOf(message.headers) };
      try {
        await inSpan(`process ${subject}`, traced, async () => {
          const asked = message.json<{ account_id: string; input: unknown; ahead_ms?: number }>();
          const input = request.input.parse(asked.input) as z.output<Request['input']>;
          const reply = await handle(asked.account_id, input, asked.ahead_ms ?? 0);
          message.respond(JSON.stringify(reply));
        });
      } catch (error) {
        log.error({ err: error, request: request.key }, 'an internal request failed');
        message.respond('', { headers: headersOf({ Failed: 'true' }) });
      }
    };
    const take = (message: Msg) => {
      // The connection is already closed. The asker's request times out.
      const unsent = (error: unknown) => log.warn({ err: error, subject }, 'a reply could not be sent');
      const responding = respond(message)
        .catch(unsent)
        .finally(() => this.#responding.delete(responding));
      this.#responding.add(responding);
    };
    this.#subscribe(subject, take, service);
  }

  /**
   * Asks every process that handles a broadcast. Returns the replies received until `isComplete` accepts them or `timeoutMs` passes.
   * Leaves out replies that do not match the schema.
   */
  async askAll<Message extends Broadcast>(
    { key, reply }: Message,
    input: z.input<Message['input']>,
    until: { isComplete(replies: readonly z.output<Message['reply']>[]): boolean; timeoutMs: number },
  ): Promise<z.output<Message['reply']>[]> {
    if (!this.#connection.isConnected) return [];
    const connection = this.#connection.current;
    const inbox = createInbox(`_INBOX.${this.#options.service}.reply`);
    const replies: z.output<Message['reply']>[] = [];
    const { promise: complete, resolve } = Promise.withResolvers<void>();
    const callback = (error: Error | null, message: Msg) => {
      // An empty message comes from NATS itself and says that nobody handles the broadcast.
      const parsed = error || message.data.length === 0 ? undefined : reply.safeParse(message.json());
      if (parsed?.success) replies.push(parsed.data as z.output<Message['reply']>);
      if (until.isComplete(replies)) resolve();
    };
    const subscription = connection.subscribe(inbox, { callback });
    try {
      connection.publish(this.#subject('broadcast', key), JSON.stringify(input), { reply: inbox });
      // Leaves out processes that have not replied by then.
      await withTimeout(until.timeoutMs, complete).catch(() => undefined);
      return replies;
    } finally {
      subscription.unsubscribe();
    }
  }

  /** Replies to a broadcast. Every process replies. */
  handleAll<Message extends Broadcast>(
    { key, input: schema }: Message,
    handle: (input: z.output<Message['input']>) => Promise<z.input<Message['reply']>>,
  ): void {
    const subject = this.#subject('broadcast', key);
    const respond = async (message: Msg) => {
      try {
        const input = schema.parse(message.json()) as z.output<Message['input']>;
        message.respond(JSON.stringify(await handle(input)));
      } catch (error) {
        this.#options.log.warn({ err: error, subject }, 'a broadcast could not be answered');
      }
    };
    this.#subscribe(subject, (message) => void respond(message));
  }

  /** Takes no more requests, waits up to 5 s for replies to accepted requests, sends pending data and closes. */
  async close(): Promise<void> {
    this.#stream.close();
    if (this.isConnected()) {
      // A subscription whose connection is lost meanwhile has nothing to drain.
      const drained = Promise.allSettled(this.#handlers.values().map((handler) => handler.drain()));
      const replied = drained.then(() => Promise.allSettled(this.#responding));
      await withTimeout(finishMs, replied).catch(() => undefined);
    }
    await this.#connection.close();
  }

  #subject(...tokens: string[]): string {
    return [this.#options.prefix, ...tokens].join('.');
  }

  /** Subscribes on every connection. Processes with the same `queue` share the messages. Logs errors that `take` throws. */
  #subscribe(subject: string, take: (message: Msg) => void, queue?: string): void {
    const callback = (error: Error | null, message: Msg) => {
      try {
        if (error) throw error;
        take(message);
      } catch (cause) {
        this.#options.log.error({ err: cause, subject }, 'a message from the bus could not be handled');
      }
    };
    this.#connection.onConnection((current) => {
      const subscription = current.subscribe(subject, { callback, ...(queue !== undefined && { queue }) });
      if (queue !== undefined) this.#handlers.set(subject, subscription);
    });
  }
}

function headersOf(values: Record<string, string>): MsgHdrs {
  const headers = newHeaders();
  for (const [name, value] of Object.entries(values)) headers.set(name, value);
  return headers;
}

/** Options of a request's span. Without a current trace no span starts. */
function spanOptions(kind: SpanKind.CLIENT | SpanKind.SERVER, subject: string) {
  const isAsker = kind === SpanKind.CLIENT;
  const attributes = {
    'messaging.system': 'nats',
    'messaging.destination.name': subject,
    'messaging.operation.name': isAsker ? 'request' : 'process',
    'messaging.operation.type': isAsker ? 'send' : 'process',
  };
  return { kind, attributes, continuesOnly: true } as const;
}
