import { randomUUID } from 'node:crypto';
import type { EventDefinition, InternalRequest } from '@customer-platform/contracts/core';
import { type JetStreamClient, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type Msg, type MsgHdrs, headers as newHeaders, type Subscription } from '@nats-io/transport-node';
import type { z } from 'zod';
import { BusConnection, type BusFiles } from './bus-connection.ts';
import { ConsumeLoop, type ReceivedMessage, traceOf } from './consume-loop.ts';
import { serviceUnavailable } from './database.ts';
import type { Logger } from './logging.ts';
import { inSpan, SpanKind, type TraceHeaders, traceHeaders } from './telemetry.ts';
import { waitUntil, withTimeout } from './with-timeout.ts';

/** Retention of the stream: a service that was down for less misses no event. */
const retentionMs = 7 * 24 * 3_600_000;
/** Window in which the stream recognises a message id that it has. */
const duplicateWindowMs = 2 * 60_000;
/** Default timeout of an internal request. */
const defaultRequestTimeoutMs = 5_000;
/** Time that a consumer has to acknowledge: an event that a killed process had taken comes again after it. */
const ackWaitMs = 10_000;
/** Timeout for the stream to store an event. */
const publishTimeoutMs = 5_000;

/** Time that `close` waits for the replies to requests that were taken. */
const finishMs = 5_000;

/** Status of the server's reply to a request that nobody is subscribed to. */
const noResponders = 503;

/** Time that a start waits for NATS. */
const startWaitMs = 2_000;

const nanoseconds = (ms: number) => ms * 1_000_000;

/** Options of a process's use of the bus. */
export interface BusOptions {
  /** First token of every subject and name of the stream. */
  prefix: string;
  service: string;
  log: Logger;
  /** Timeout of `ask`; 5 s unless given. */
  requestTimeoutMs?: number;
  files?: BusFiles;
}

export interface PublishedEvent {
  id: string;
  kind: string;
  audience: string;
  sequence: number;
  /** Number of times that it was published before, 0 unless given: the stream deduplicates within a round. */
  rounds?: number;
  envelope: string;
  trace: TraceHeaders | undefined;
}

/** Events of an audience, a service, a kind, or a family of kinds such as `contact.*`; any where one is left out. */
export interface EventFilter {
  audience?: 'public' | 'internal';
  service?: string;
  kind?: string;
}

/** NATS as the platform uses it: one JetStream stream of events, durable consumers, and request-reply between services. */
export class Bus {
  readonly #connection: BusConnection;
  readonly #prefix: string;
  readonly #service: string;
  readonly #log: Logger;
  readonly #requestTimeoutMs: number;
  #jetstream: JetStreamClient | undefined;
  /** Subscriptions of `handle` on the present connection, and requests that they took and have no reply yet. */
  #handlers: Subscription[] = [];
  #handling = 0;
  #streamEnsured: Promise<void> | undefined;

  /**
   * Connects to the servers that `urls` lists, and goes on trying for ever where there is none within 2 s: what needs the bus waits by
   * itself then. Throws where a URL is none or a file of `files` cannot be read.
   */
  static async connect(urls: string, options: BusOptions): Promise<Bus> {
    const bus = new Bus(urls, options);
    await bus.#connection.connected(startWaitMs);
    return bus;
  }

  private constructor(urls: string, { prefix, service, log, requestTimeoutMs, files = {} }: BusOptions) {
    this.#prefix = prefix;
    this.#service = service;
    this.#log = log;
    this.#requestTimeoutMs = requestTimeoutMs ?? defaultRequestTimeoutMs;
    this.#connection = new BusConnection(urls, files, service, log);
    this.#connection.onConnection((connection) => {
      this.#jetstream = jetstream(connection);
      this.#streamEnsured = undefined;
      this.#handlers = [];
    });
  }

  isConnected(): boolean {
    return this.#connection.isConnected;
  }

  /** The subject that the events of one kind are published under. */
  subjectOf({ audience, kind }: Pick<PublishedEvent, 'audience' | 'kind'>): string {
    return `${this.#prefix}.event.${audience}.${this.#service}.${kind}`;
  }

  /** Publishes and waits until the stream has stored it. Throws where it has not within 5 s. */
  async publish(event: PublishedEvent): Promise<void> {
    await this.#ensureStream();
    const headers = newHeaders();
    headers.set('Event-Sequence', String(event.sequence));
    for (const [name, value] of Object.entries(event.trace ?? {})) headers.set(name, value);
    const msgID = event.rounds ? `${event.id}.${event.rounds}` : event.id;
    const options = { msgID, headers, timeout: publishTimeoutMs };
    try {
      await this.#jetstream!.publish(this.subjectOf(event), event.envelope, options);
    } catch (error) {
      this.#streamEnsured = undefined;
      throw error;
    }
  }

  /** Makes the stream where it is missing: one for all events of the installation. */
  #ensureStream(): Promise<void> {
    this.#streamEnsured ??= (async () => {
      const manager = await jetstreamManager(this.#connection.current, { checkAPI: false });
      const config = {
        name: this.#prefix,
        subjects: [`${this.#prefix}.event.>`],
        max_age: nanoseconds(retentionMs),
        duplicate_window: nanoseconds(duplicateWindowMs),
      };
      await manager.streams.info(this.#prefix).catch(() => manager.streams.add(config));
    })();
    this.#streamEnsured.catch(() => {
      this.#streamEnsured = undefined;
    });
    return this.#streamEnsured;
  }

  /**
   * Gives every message that `filter` takes to `take`, in batches of at most `batchSize`, one batch at a time, until stopped.
   * The durable consumer keeps its place through restarts; where stream or consumer are missing they are made.
   */
  consume(
    durable: string,
    filter: EventFilter,
    batchSize: number,
    take: (batch: ReceivedMessage[]) => Promise<void>,
  ): { stop(): Promise<void>; pending(): Promise<number> } {
    const name = `${this.#service}-${durable.replaceAll('.', '-')}`;
    const subject = `${this.#prefix}.event.${filter.audience ?? '*'}.${filter.service ?? '*'}.${filter.kind ?? '>'}`;
    const loop = new ConsumeLoop(batchSize, take, this.#log.child({ consumer: name }), async () => {
      await this.#ensureStream();
      const manager = await jetstreamManager(this.#connection.current, { checkAPI: false });
      await manager.consumers.add(this.#prefix, {
        durable_name: name,
        filter_subject: subject,
        ack_policy: 'explicit',
        deliver_policy: 'all',
        ack_wait: nanoseconds(ackWaitMs),
        max_ack_pending: Math.max(1_000, batchSize * 4),
      });
      const consumer = await this.#jetstream!.consumers.get(this.#prefix, name);
      return await consumer.consume({ max_messages: batchSize * 2, expires: 30_000, abort_on_missing_resource: true });
    });
    return {
      stop: () => loop.stop(),
      pending: async () => {
        const manager = await jetstreamManager(this.#connection.current, { checkAPI: false });
        const info = await manager.consumers.info(this.#prefix, name);
        return info.num_pending + info.num_ack_pending;
      },
    };
  }

  /** Asks another service and returns its reply. Throws 503 service_unavailable where there is none within `timeoutMs`. */
  async ask<Request extends InternalRequest>(
    request: Request,
    accountId: string,
    input: z.input<Request['input']>,
    timeoutMs = this.#requestTimeoutMs,
  ): Promise<z.output<Request['reply']>> {
    const subject = `${this.#prefix}.request.${request.service}.${request.key}`;
    return await inSpan(`ask ${request.key}`, { kind: SpanKind.CLIENT }, async () => {
      const headers = newHeaders();
      for (const [name, value] of Object.entries(traceHeaders())) headers.set(name, value);
      const message = await this.#request(subject, JSON.stringify({ account_id: accountId, input }), {
        headers,
        timeoutMs,
      }).catch((cause: unknown) => {
        throw serviceUnavailable(`${request.service} does not respond; try again shortly`, cause);
      });
      if (message.headers?.get('Failed'))
        throw serviceUnavailable(`${request.service} could not respond; try again shortly`);
      return request.reply.parse(message.json()) as z.output<Request['reply']>;
    });
  }

  /**
   * Publishes a request and returns the reply. Whoever replies may write to every reply inbox of this service: only the one who was asked
   * knows which. The client's own `request` reads a reply's headers where one that cannot be read ends the whole connection's reader.
   */
  async #request(subject: string, payload: string, options: { headers: MsgHdrs; timeoutMs: number }): Promise<Msg> {
    const connection = this.#connection.current;
    const reply = replyInbox(this.#service);
    const { promise, resolve, reject } = Promise.withResolvers<Msg>();
    const callback = (error: Error | null, message: Msg) => (error ? reject(error) : resolve(message));
    const subscription = connection.subscribe(reply, { max: 1, callback });
    try {
      connection.publish(subject, payload, { reply, headers: options.headers });
      const message = await withTimeout(options.timeoutMs, promise);
      if (message.headers?.code === noResponders) throw new Error('nobody is subscribed to the request');
      return message;
    } finally {
      subscription.unsubscribe();
    }
  }

  /** Handles an internal request; the processes of one service share the work. */
  handle<Request extends InternalRequest>(
    request: Request,
    handle: (accountId: string, input: z.output<Request['input']>) => Promise<z.input<Request['reply']>>,
  ): void {
    const subject = `${this.#prefix}.request.${request.service}.${request.key}`;
    const take = (message: Msg) => {
      // The asker names where the reply goes: anywhere but an inbox, it would be published with this service's rights.
      if (isReplyInbox(message.reply)) void this.#handleOne(request, message, handle);
      else this.#log.warn({ subject }, 'a request without an inbox is ignored');
    };
    this.#subscribe(subject, take, this.#service);
  }

  /** Takes no more requests, and waits up to 5 s for the replies to those it took. */
  async #finishRequests(): Promise<void> {
    let isDrained = false;
    // One whose connection is lost meanwhile has nothing to drain.
    void Promise.allSettled(this.#handlers.map((handler) => handler.drain())).then(() => {
      isDrained = true;
    });
    await waitUntil(() => isDrained && this.#handling === 0, finishMs);
  }

  async #handleOne<Request extends InternalRequest>(
    request: Request,
    message: Msg,
    handle: (accountId: string, input: z.output<Request['input']>) => Promise<z.input<Request['reply']>>,
  ): Promise<void> {
    this.#handling++;
    try {
      await inSpan(`handle ${request.key}`, { kind: SpanKind.SERVER, parent: traceOf(message.headers) }, async () => {
        const { account_id, input } = message.json<{ account_id: string; input: unknown }>();
        const reply = await handle(account_id, request.input.parse(input) as z.output<Request['input']>);
        message.respond(JSON.stringify(reply));
      });
    } catch (error) {
      this.#log.error({ err: error, request: request.key }, 'an internal request failed');
      const headers = newHeaders();
      headers.set('Failed', 'true');
      message.respond('', { headers });
    } finally {
      this.#handling--;
    }
  }

  /**
   * Calls `hear` with the account of each event of one kind as it is published, in every process: at most once each, from now on. For
   * what a process knows by heart; `missed` says that some may have been missed, since there was no connection.
   */
  follow(event: EventDefinition, hear: (accountId: string) => void, missed: () => void): void {
    const subject = `${this.#prefix}.event.${event.audience}.${event.service}.${event.kind}`;
    this.#connection.onBack(missed);
    this.#subscribe(subject, (message) => hear(String(message.json<{ account?: unknown } | null>()?.account)));
  }

  /** Tells every process that listens to `topic`, now and without a record; for news that a poll would find too. */
  announce(topic: string, payload: string): void {
    // Whoever cannot be told now finds out by the poll.
    if (this.isConnected()) this.#connection.current.publish(`${this.#prefix}.news.${topic}`, payload);
  }

  /** Hears what `announce` says. */
  listen(topic: string, hear: (payload: string) => void): void {
    this.#subscribe(`${this.#prefix}.news.${topic}`, (message) => hear(message.string()));
  }

  /** Subscribes on every connection. What a message makes `take` throw ends nothing: it is logged. */
  #subscribe(subject: string, take: (message: Msg) => void, queue?: string): void {
    const callback = (error: Error | null, message: Msg) => {
      try {
        if (error) throw error;
        // What JetStream delivers to a subject of somebody's choice keeps the subject that it was published under.
        if (message.subject !== subject) throw new Error(`a message published to ${message.subject}`);
        take(message);
      } catch (cause) {
        this.#log.error({ err: cause, subject }, 'a message of the bus could not be taken');
      }
    };
    const options = queue === undefined ? { callback } : { callback, queue };
    this.#connection.onConnection((connection) => {
      const subscription = connection.subscribe(subject, options);
      if (queue !== undefined) this.#handlers.push(subscription);
    });
  }

  /** Finishes the requests it took, sends what is under way and closes. */
  async close(): Promise<void> {
    if (this.isConnected()) await this.#finishRequests();
    await this.#connection.close();
  }
}

/** A subject for the reply to one request, which only the one who is asked knows. */
const replyInbox = (service: string) => `_INBOX.${service}.reply.${randomUUID()}`;

const isReplyInbox = (subject: string | undefined) => /^_INBOX\.[\w-]+\.reply\.[\w-]+$/.test(subject ?? '');
