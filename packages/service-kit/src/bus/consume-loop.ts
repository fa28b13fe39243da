import { setTimeout as sleep } from 'node:timers/promises';
import { type Envelope, eventEnvelope } from '@customer-platform/contracts/core';
import type { Consumer, ConsumerInfo, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import type { MsgHdrs } from '@nats-io/transport-node';
import { z } from 'zod';
import type { Logger } from '../telemetry/logging.ts';
import type { TraceHeaders } from '../telemetry/telemetry.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import { countWithin } from '../values/count-within.ts';

/** Approximate limit on a batch's bytes. A batch becomes one statement and is in memory several times. */
const batchBytes = 4_194_304;
/** Limits of one pull request, so that few large events wait in memory while none can be taken. */
const pulled = { bytes: 8_388_608, messages: 100 };
/** Time that a pull request waits at the bus. The bus sends a heartbeat every half of it; after two missed heartbeats the request is lost. */
const longestRequestMs = 10_000;
/** Ordinary ends of a request, after which the next one continues. Any other end means that the consumer must be reopened. */
const ordinaryEnds = /request timeout|no messages|batch completed|message size exceeds maxbytes/i;
/** Time that a stop gives a request that brings messages, since dropped messages come again late. An in-order request gets its full time. */
const endingMs = 200;
const quietMs = 1_000;
/** Time after expiry at which the client ends a request itself. NATS up to 2.9.15 does not if a message arrives in that moment. */
const graceMs = 100;

/** One event as a consumer receives it. */
export interface ReceivedEvent<Data = unknown> extends Envelope<Data> {
  /** Order of the publishing service's events. Of two events of one resource, the later change has the greater number. */
  sequence: number;
  /** The exact JSON string of the envelope. */
  text: string;
  trace: TraceHeaders | undefined;
}

/** Content of a message without its stream position: enough to take the message again from a row. */
export interface MessageContent {
  subject: string;
  bytes: Uint8Array;
  headers: Record<string, string>;
}

/** A message from the bus with its acknowledgement. */
export interface ReceivedMessage extends MessageContent {
  /** Undefined if the message is not an event. */
  event: ReceivedEvent | undefined;
  acknowledge(): void;
  /** Returns the message to the bus, which redelivers it after `delayMs`. */
  release(delayMs: number): void;
}

/** Limits of a consumer's batches. */
export interface Batches {
  /** Maximum number of events in a batch. */
  size: number;
  /** Time in milliseconds that a smaller batch waits for more events. */
  gatherMs: number;
  /** Time in milliseconds that a pull request waits at the bus; 10 s unless given. */
  requestMs?: number;
}

/** Source and limits of a loop. */
interface Pulls extends Batches {
  log: Logger;
  /** The durable consumer at the bus. `open` creates it if missing. */
  durable: { open(): Promise<Pick<Consumer, 'fetch'>>; info(): Promise<ConsumerInfo> };
}

/** Pulls from one durable consumer and passes each batch on as soon as the previous one is done. */
export class ConsumeLoop {
  readonly #parts: Pulls;
  readonly #take: (batch: ReceivedMessage[]) => Promise<void>;
  readonly #loop: WakeLoop;
  #consumer: Pick<Consumer, 'fetch'> | undefined;
  #messages: Pick<ConsumerMessages, 'stop'> | undefined;
  #receivedMs = Number.NEGATIVE_INFINITY;
  /** Received messages not yet passed on, and their bytes. */
  readonly #waiting: JsMsg[] = [];
  #waitingBytes = 0;
  #taking: Promise<void> | undefined;
  #gathering: AbortController | undefined;
  #stopping = false;
  #isPaused = false;
  #oldestAt: Date | undefined;

  constructor(name: string, parts: Pulls, take: (batch: ReceivedMessage[]) => Promise<void>) {
    this.#parts = parts;
    this.#take = take;
    const pace = { everyMs: Number.POSITIVE_INFINITY, slowestRetryMs: 1_000, log: parts.log };
    this.#loop = new WakeLoop(`consumer ${name}`, pace, () => this.#round());
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#endRequest();
    this.#gathering?.abort();
    await this.#loop.stop();
    await this.#taking;
  }

  /** Pauses or resumes pulling. Messages already pulled are still passed on. */
  setPaused(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    if (isPaused) this.#endRequest();
    else this.#loop.wake();
  }

  /** Returns the number of unfinished events, of unacknowledged ones and of waiting pull requests, and the oldest event's time. */
  async pending() {
    const { num_pending, num_ack_pending, num_waiting } = await this.#parts.durable.info();
    const count = num_pending + num_ack_pending;
    const oldestAt = count > 0 ? this.#oldestAt : undefined;
    return { count, unacknowledged: num_ack_pending, requests: num_waiting, oldestAt };
  }

  /** Returns whether all events up to a stream position are done; false if the bus does not respond. Stops gathering if some remain. */
  async hasPassed(position: number): Promise<boolean> {
    const info = await this.#parts.durable.info().catch(() => undefined);
    if (!info) return false;
    const isPassed = info.num_pending + info.num_ack_pending === 0 || info.ack_floor.stream_seq >= position;
    if (!isPassed) this.#gathering?.abort();
    return isPassed;
  }

  /** Ends the current request, at once if it brings nothing. */
  #endRequest(): void {
    const messages = this.#messages;
    if (performance.now() - this.#receivedMs > quietMs) messages?.stop();
    else if (this.#parts.requestMs === undefined) setTimeout(() => messages?.stop(), endingMs);
  }

  /** Makes one request. Throws if the consumer must be reopened. */
  async #round(): Promise<boolean> {
    if (this.#isPaused) return false;
    try {
      this.#consumer ??= await this.#parts.durable.open();
      await this.#pull(this.#consumer);
      return true;
    } catch (error) {
      this.#consumer = undefined;
      // Otherwise the next request's messages would be taken concurrently, out of order.
      await this.#taking;
      throw error;
    }
  }

  /** Receives the messages of one request. Throws the error that ended it, unless that is an ordinary end. */
  async #pull(consumer: Pick<Consumer, 'fetch'>): Promise<void> {
    const { requestMs = longestRequestMs } = this.#parts;
    const messages = await consumer.fetch({ max_bytes: pulled.bytes, expires: requestMs });
    this.#messages = messages;
    if (this.#stopping || this.#isPaused) messages.stop();
    const expiry = setTimeout(() => messages.stop(), requestMs + graceMs);
    let count = 0;
    try {
      for await (const message of messages) {
        await this.#receive(message);
        // The request is complete then, but not every version of NATS says so.
        if (++count === pulled.messages) break;
      }
    } catch (error) {
      if (!ordinaryEnds.test((error as Error).message)) throw error;
    } finally {
      clearTimeout(expiry);
    }
  }

  /** Queues a message for a batch. Waits while two batches are queued. */
  async #receive(message: JsMsg): Promise<void> {
    const { size } = this.#parts;
    this.#receivedMs = performance.now();
    this.#waiting.push(message);
    this.#waitingBytes += message.data.length;
    if (this.#waiting.length >= size || this.#waitingBytes >= batchBytes) this.#gathering?.abort();
    if (this.#waiting.length >= size * 2 || this.#waitingBytes >= batchBytes * 2) await this.#taking;
    // While it waited, the running loop may have taken all messages.
    if (this.#waiting.length > 0) this.#taking ??= this.#takeAll();
  }

  /** Never rejects. Messages that are not acknowledged come again after the acknowledgement deadline. */
  async #takeAll(): Promise<void> {
    while (this.#waiting.length > 0)
      await this.#takeBatch().catch((error: unknown) =>
        this.#parts.log.error({ err: error }, 'a batch could not be processed'),
      );
    this.#oldestAt = undefined;
    this.#taking = undefined;
  }

  async #takeBatch(): Promise<void> {
    const { size, gatherMs } = this.#parts;
    this.#oldestAt = new Date(this.#waiting[0]!.info.timestampNanos / 1_000_000);
    const isWhole = this.#waiting.length >= size || this.#waitingBytes >= batchBytes;
    if (gatherMs > 0 && !isWhole && !this.#stopping) {
      this.#gathering = new AbortController();
      await sleep(gatherMs, undefined, this.#gathering).catch(() => undefined);
    }
    const sizes = this.#waiting.map(({ data }) => data.length);
    const count = countWithin(sizes, { items: size, bytes: batchBytes });
    this.#waitingBytes -= sizes.slice(0, count).reduce((sum, size) => sum + size, 0);
    await this.#take(this.#waiting.splice(0, count).map(receivedMessage));
  }
}

function receivedMessage(message: JsMsg): ReceivedMessage {
  // Takes the first value of each header.
  const headers = Object.fromEntries([...(message.headers ?? [])].map(([name, [value = '']]) => [name, value]));
  const content = { subject: message.subject, bytes: message.data, headers };
  return {
    ...content,
    event: readEvent(content),
    acknowledge: () => message.ack(),
    release: (delayMs) => message.nak(delayMs),
  };
}

/** The envelope of any event. */
const anyEnvelope = eventEnvelope.extend({ type: z.string(), data: z.looseObject({}) });

/** Reason why a message is not an event. */
export const noEvent = 'The message is not an event: it must be the JSON of an event envelope';

/** Returns the event that a message carries; undefined if the message is not an event. Never throws. */
export function readEvent({ bytes, headers }: MessageContent): ReceivedEvent | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  let envelope: Envelope;
  try {
    envelope = JSON.parse(text) as Envelope;
  } catch {
    return undefined;
  }
  if (!anyEnvelope.safeParse(envelope).success) return undefined;
  return {
    ...envelope,
    text,
    sequence: Number(headers['Event-Sequence'] ?? 0),
    trace: headers.traceparent ? { traceparent: headers.traceparent } : undefined,
  };
}

/** The trace that a message carries. */
export function traceOf(headers: MsgHdrs | undefined): TraceHeaders | undefined {
  const traceparent = headers?.get('traceparent');
  return traceparent ? { traceparent } : undefined;
}
