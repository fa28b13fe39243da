import type { EventDefinition } from '@customer-platform/contracts/core';
import { nanos, headers as newHeaders } from '@nats-io/transport-node';
import type { TraceHeaders } from '../telemetry/telemetry.ts';
import { BusConnection, type BusSettings } from './bus-connection.ts';
import { type Batches, ConsumeLoop, type ReceivedMessage } from './consume-loop.ts';
import { EventStream } from './event-stream.ts';
import { type RequestOptions, RequestReply } from './request-reply.ts';

/** Time that a consumer has to acknowledge: an event that a killed process had taken comes again after it. */
const ackWaitMs = 10_000;
/** Timeout for the stream to store an event. */
const publishTimeoutMs = 5_000;

/** Time that a start waits for NATS. */
const startWaitMs = 2_000;

/** Options of a process's use of the bus. */
interface BusOptions extends RequestOptions {
  settings?: BusSettings;
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
export class Bus extends RequestReply {
  readonly #stream: EventStream;

  /**
   * Connects to the servers that `urls` lists, and goes on trying for ever where there is none within 2 s: what needs the bus waits by
   * itself then. Throws where a URL is none or a file of `files` cannot be read.
   */
  static async connect(urls: string, options: BusOptions): Promise<Bus> {
    const bus = new Bus(urls, options);
    await bus.connection.connected(startWaitMs);
    return bus;
  }

  private constructor(urls: string, options: BusOptions) {
    const connection = new BusConnection(urls, options.settings ?? {}, options.service, options.log);
    super(connection, options);
    this.#stream = new EventStream(connection, options);
  }

  isConnected(): boolean {
    return this.connection.isConnected;
  }

  /** Resolves if the last event was stored, or else once the bus responds again. Throws where it does not within 10 s. */
  async ready(): Promise<void> {
    await this.#stream.ensure();
  }

  /** The id of the server, which another start of it has not; undefined without a connection, and of a cluster. */
  server(): string | undefined {
    return this.connection.server;
  }

  /** The subject that the events of one kind are published under. */
  subjectOf({ audience, kind }: Pick<PublishedEvent, 'audience' | 'kind'>): string {
    return `${this.prefix}.event.${audience}.${this.service}.${kind}`;
  }

  /** Publishes and waits until the stream has stored it. Throws where it has not within 5 s. */
  async publish(event: PublishedEvent): Promise<void> {
    await this.#stream.ensure();
    const headers = newHeaders();
    headers.set('Event-Sequence', String(event.sequence));
    for (const [name, value] of Object.entries(event.trace ?? {})) headers.set(name, value);
    const msgID = event.rounds ? `${event.id}.${event.rounds}` : event.id;
    const options = { msgID, headers, timeout: publishTimeoutMs };
    try {
      await this.connection.jetstream.publish(this.subjectOf(event), event.envelope, options);
    } catch (error) {
      this.#stream.forget();
      throw error;
    }
  }

  /**
   * Gives every message that `filter` takes to `take`, in batches, one batch at a time, until stopped. What is not acknowledged within `ackMs`,
   * 10 s unless given, comes again. The durable consumer keeps its place through restarts; where
   * stream or consumer are missing they are made.
   */
  consume(
    durable: string,
    filter: EventFilter,
    { ackMs = ackWaitMs, ...batches }: Batches & { ackMs?: number },
    take: (batch: ReceivedMessage[]) => Promise<void>,
  ): ConsumeLoop {
    const name = `${this.service}-${durable.replaceAll('.', '-')}`;
    const subject = `${this.prefix}.event.${filter.audience ?? '*'}.${filter.service ?? '*'}.${filter.kind ?? '>'}`;
    const open = async () => {
      await this.#stream.ensure();
      const manager = await this.connection.manager();
      const info = await manager.consumers.add(this.prefix, {
        durable_name: name,
        filter_subject: subject,
        ack_policy: 'explicit',
        deliver_policy: 'all',
        ack_wait: nanos(ackMs),
        max_ack_pending: Math.max(1_000, batches.size * 4),
      });
      return this.connection.jetstream.consumers.getConsumerFromInfo(info);
    };
    const info = async () => await (await this.connection.manager()).consumers.info(this.prefix, name);
    return new ConsumeLoop(durable, { ...batches, log: this.log, durable: { open, info } }, take);
  }

  /** Returns the position of the newest event in the stream. Throws where the bus does not say. */
  async position(): Promise<number> {
    await this.#stream.ensure();
    const manager = await this.connection.manager();
    return (await manager.streams.info(this.prefix)).state.last_seq;
  }

  /**
   * Calls `hear` with the account of each event of one kind as it is published, in every process: at most once each, from now on. For
   * what a process knows by heart; `missed` says that some may have been missed, since there was no connection.
   */
  follow(event: EventDefinition, hear: (accountId: string) => void, missed: () => void): void {
    const subject = `${this.prefix}.event.${event.audience}.${event.service}.${event.kind}`;
    this.connection.onBack(missed);
    this.subscribe({
      subject,
      take: (message) => hear(String(message.json<{ account?: unknown } | null>()?.account)),
    });
  }

  /**
   * Tells every process that hears of this service's `topic`, itself too, now and without a record; for news that a poll would find too.
   * Never throws, also where the server takes no message of that size: whoever cannot be told finds out by the poll.
   */
  tell(topic: string, payload = ''): void {
    try {
      if (this.isConnected()) this.connection.current.publish(this.#newsSubject(this.service, topic), payload);
    } catch (error) {
      this.log.warn({ err: error, news: topic }, 'news could not be published');
    }
  }

  /** Hears what the processes of this service `tell`; also when the connection is back, since something may have been missed. */
  onPeers(topic: string, hear: () => void): void {
    this.connection.onBack(hear);
    this.hearOf(this.service, topic, hear);
  }

  /** Hears what the processes of a service `tell`. */
  hearOf(service: string, topic: string, hear: (payload: string) => void): void {
    this.subscribe({
      subject: this.#newsSubject(service, topic),
      take: (message) => hear(message.string()),
    });
  }

  /** Calls `back` whenever there is a connection after there was none: news of the time between was missed. */
  onBack(back: () => void): void {
    this.connection.onBack(back);
  }

  /** Finishes the requests it took, sends what is under way and closes. */
  async close(): Promise<void> {
    this.#stream.close();
    if (this.isConnected()) await this.finish();
    await this.connection.close();
  }

  #newsSubject(service: string, topic: string): string {
    return `${this.prefix}.news.${service}.${topic}`;
  }
}
