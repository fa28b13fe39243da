import type { InternalRequest } from '@customer-platform/contracts/core';
import { type JetStreamClient, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type Msg, type NatsConnection, headers as newHeaders } from '@nats-io/transport-node';
import type { z } from 'zod';
import { ConsumeLoop, type Delivery, traceOf } from './consume-loop.ts';
import { serviceUnavailable } from './database.ts';
import type { Logger } from './logging.ts';
import { inSpan, SpanKind, type TraceHeaders, traceHeaders } from './telemetry.ts';

/** How long events stay in the stream: a service that was away for less misses none. */
const retentionMs = 7 * 24 * 3_600_000;
/** How long the stream recognises a message id that it has. */
const duplicateWindowMs = 2 * 60_000;
/** How long an asker waits for an internal answer. */
const requestTimeoutMs = 500;
/** How long a consumer has before its message is given to another: how late an event comes that a killed process had taken. */
const ackWaitMs = 10_000;

const nanoseconds = (ms: number) => ms * 1_000_000;

export interface PublishedEvent {
  id: string;
  kind: string;
  audience: string;
  sequence: number;
  envelope: string;
  trace: TraceHeaders | undefined;
}

/** Which events: of an audience, a service, a kind, or a family of kinds such as `contact.*`; what is left out is any. */
export interface EventFilter {
  audience?: 'public' | 'internal';
  service?: string;
  kind?: string;
}

/** NATS as the platform uses it: one JetStream stream of events, durable consumers, and request-reply between services. */
export class Bus {
  readonly #connection: NatsConnection;
  readonly #prefix: string;
  readonly #service: string;
  readonly #log: Logger;
  readonly #jetstream: JetStreamClient;
  #streamEnsured: Promise<void> | undefined;

  private constructor(connection: NatsConnection, prefix: string, service: string, log: Logger) {
    this.#connection = connection;
    this.#jetstream = jetstream(connection);
    this.#prefix = prefix;
    this.#service = service;
    this.#log = log;
  }

  /** Connects, waiting for the server as long as it takes; a lost connection is taken up again for ever. */
  static async connect(url: string, options: { prefix: string; service: string; log: Logger }): Promise<Bus> {
    const connection = await connect({
      servers: url,
      name: options.service,
      waitOnFirstConnect: true,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 200,
      reconnectJitter: 100,
      pingInterval: 5_000,
      maxPingOut: 2,
    });
    return new Bus(connection, options.prefix, options.service, options.log);
  }

  isConnected(): boolean {
    return !this.#connection.isClosed() && this.#connection.getServer() !== '' && this.#connected;
  }

  #connected = true;

  /** Follows the connection's state; run once beside everything else. */
  async watch(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === 'disconnect') {
        this.#connected = false;
        this.#log.warn('the bus is away; events wait in the outbox');
      } else if (status.type === 'reconnect') {
        this.#connected = true;
        this.#log.warn('the bus is back');
      }
    }
  }

  /** Publishes and waits until the stream has stored it. Throws where it has not within 5 s. */
  async publish(event: PublishedEvent): Promise<void> {
    await this.#ensureStream();
    const headers = newHeaders();
    headers.set('Event-Sequence', String(event.sequence));
    for (const [name, value] of Object.entries(event.trace ?? {})) headers.set(name, value);
    const subject = `${this.#prefix}.event.${event.audience}.${this.#service}.${event.kind}`;
    try {
      await this.#jetstream.publish(subject, event.envelope, { msgID: event.id, headers, timeout: 5_000 });
    } catch (error) {
      this.#streamEnsured = undefined;
      throw error;
    }
  }

  /** Makes the stream where it is missing: one for all events of the installation. */
  #ensureStream(): Promise<void> {
    this.#streamEnsured ??= (async () => {
      const manager = await jetstreamManager(this.#connection);
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
   * Gives every event that `filter` takes to `take`, in batches of at most `batchSize`, one batch at a time, until stopped.
   * The durable consumer keeps its place through restarts; where stream or consumer are missing they are made.
   */
  consume(
    durable: string,
    filter: EventFilter,
    batchSize: number,
    take: (batch: Delivery[]) => Promise<void>,
  ): { stop(): Promise<void>; pending(): Promise<number> } {
    const name = `${this.#service}-${durable.replaceAll('.', '-')}`;
    const subject = `${this.#prefix}.event.${filter.audience ?? '*'}.${filter.service ?? '*'}.${filter.kind ?? '>'}`;
    const loop = new ConsumeLoop(batchSize, take, this.#log.child({ consumer: name }), async () => {
      await this.#ensureStream();
      const manager = await jetstreamManager(this.#connection);
      await manager.consumers.add(this.#prefix, {
        durable_name: name,
        filter_subject: subject,
        ack_policy: 'explicit',
        deliver_policy: 'all',
        ack_wait: nanoseconds(ackWaitMs),
        max_ack_pending: Math.max(1_000, batchSize * 4),
      });
      const consumer = await this.#jetstream.consumers.get(this.#prefix, name);
      return await consumer.consume({ max_messages: batchSize * 2, expires: 30_000, abort_on_missing_resource: true });
    });
    return {
      stop: () => loop.stop(),
      pending: async () => {
        const manager = await jetstreamManager(this.#connection);
        const info = await manager.consumers.info(this.#prefix, name);
        return info.num_pending + info.num_ack_pending;
      },
    };
  }

  /** Asks the service that owns the answer. Throws 503 service_unavailable where it does not answer within 500 ms. */
  async ask<Request extends InternalRequest>(
    request: Request,
    accountId: string,
    input: z.input<Request['input']>,
  ): Promise<z.output<Request['answer']>> {
    const subject = `${this.#prefix}.request.${request.service}.${request.key}`;
    return await inSpan(`ask ${request.key}`, { kind: SpanKind.CLIENT }, async () => {
      const headers = newHeaders();
      for (const [name, value] of Object.entries(traceHeaders())) headers.set(name, value);
      const message = await this.#connection
        .request(subject, JSON.stringify({ account_id: accountId, input }), { timeout: requestTimeoutMs, headers })
        .catch((cause: unknown) => {
          throw serviceUnavailable(`${request.service} does not answer; try again shortly`, cause);
        });
      if (message.headers?.get('Failed'))
        throw serviceUnavailable(`${request.service} could not answer; try again shortly`);
      return request.answer.parse(message.json()) as z.output<Request['answer']>;
    });
  }

  /** Answers an internal request; the processes of one service share the work. */
  answer<Request extends InternalRequest>(
    request: Request,
    handle: (accountId: string, input: z.output<Request['input']>) => Promise<z.input<Request['answer']>>,
  ): void {
    const subject = `${this.#prefix}.request.${request.service}.${request.key}`;
    const callback = (error: Error | null, message: Msg) => {
      if (error) this.#log.error({ err: error, subject }, 'a subscription failed');
      // The asker names where the reply goes: anywhere but an inbox, it would be published with this service's rights.
      else if (!message.reply?.startsWith('_INBOX.'))
        this.#log.warn({ subject }, 'a request without an inbox is ignored');
      else void this.#answerOne(request, message, handle);
    };
    this.#connection.subscribe(subject, { queue: this.#service, callback });
  }

  async #answerOne<Request extends InternalRequest>(
    request: Request,
    message: Msg,
    handle: (accountId: string, input: z.output<Request['input']>) => Promise<z.input<Request['answer']>>,
  ): Promise<void> {
    try {
      await inSpan(`answer ${request.key}`, { kind: SpanKind.SERVER, parent: traceOf(message.headers) }, async () => {
        const { account_id, input } = message.json<{ account_id: string; input: unknown }>();
        const answer = await handle(account_id, request.input.parse(input) as z.output<Request['input']>);
        message.respond(JSON.stringify(answer));
      });
    } catch (error) {
      this.#log.error({ err: error, request: request.key }, 'an internal request failed');
      const headers = newHeaders();
      headers.set('Failed', 'true');
      message.respond('', { headers });
    }
  }

  /** Tells every process that listens to `topic`, now and without a record; for news that a poll would find too. */
  announce(topic: string, payload: string): void {
    this.#connection.publish(`${this.#prefix}.news.${topic}`, payload);
  }

  /** Hears what `announce` says. */
  listen(topic: string, hear: (payload: string) => void): void {
    const callback = (error: Error | null, message: Msg) => {
      if (error) this.#log.error({ err: error, topic }, 'a subscription failed');
      else hear(message.string());
    };
    this.#connection.subscribe(`${this.#prefix}.news.${topic}`, { callback });
  }

  /** Sends what is under way and closes. */
  async close(): Promise<void> {
    if (this.#connection.isClosed()) return;
    if (this.#connected) await this.#connection.drain();
    else await this.#connection.close();
  }
}
