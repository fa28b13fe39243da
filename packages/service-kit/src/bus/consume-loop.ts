import { setTimeout as sleep } from 'node:timers/promises';
import { type Envelope, eventEnvelope } from '@customer-platform/contracts/core';
import type { Consumer, ConsumerInfo, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import type { MsgHdrs } from '@nats-io/transport-node';
import { z } from 'zod';
import type { Logger } from '../telemetry/logging.ts';
import type { TraceHeaders } from '../telemetry/telemetry.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import { countWithin } from '../values/count-within.ts';

/** About how many bytes a batch has at most: it becomes one statement, and is in memory several times meanwhile. */
const batchBytes = 4_194_304;
/** Most that a request asks the bus for: however large the events are, few of them wait in memory while none can be taken. */
const pulled = { bytes: 8_388_608, messages: 100 };
/** Time that a request waits there, of which the bus says every half that it does; one without two such signs is lost. */
const longestRequestMs = 10_000;
/** Ends of a request after which the next one gets more; any other says that the consumer has to be looked after. */
const ordinaryEnds = /request timeout|no messages|batch completed|message size exceeds maxbytes/i;
/** Time that a stop leaves a request that brings messages: what is thrown away comes again late. One for events in order has all its time. */
const endingMs = 200;
const quietMs = 1_000;
/** Time after its end at which a request is over that the bus has not ended: NATS up to 2.9.15 forgets one if a message comes in that moment. */
const graceMs = 100;

/** One event as a consumer gets it. */
export interface ReceivedEvent<Data = unknown> extends Envelope<Data> {
  /** Order of the publishing service's events; of two events of one resource, the later change has the greater. */
  sequence: number;
  /** The envelope's exact text. */
  text: string;
  trace: TraceHeaders | undefined;
}

/** Content of a message without its position in the stream: enough to take it again from a row. */
export interface MessageContent {
  subject: string;
  bytes: Uint8Array;
  headers: Record<string, string>;
}

/** A message of the bus with its acknowledgement. */
export interface ReceivedMessage extends MessageContent {
  /** Undefined where the message is no event. */
  event: ReceivedEvent | undefined;
  acknowledge(): void;
  /** Gives it back to the bus, to come again after `delayMs`. */
  giveBack(delayMs: number): void;
}

/** Bounds of a consumer's batches. */
export interface Batches {
  /** Events in one at most. */
  size: number;
  /** Time in milliseconds that a smaller one waits for more. */
  gatherMs: number;
  /** Time in milliseconds that a request for more waits at the bus; 10 s unless given. */
  requestMs?: number;
}

/** What a loop pulls from, and how. */
interface Pulls extends Batches {
  log: Logger;
  /** The durable consumer at the bus; `open` makes it where it is missing. */
  durable: { open(): Promise<Pick<Consumer, 'fetch'>>; info(): Promise<ConsumerInfo> };
}

/** Pulls from one durable consumer and hands over what has come, as soon as the batch before is done. */
export class ConsumeLoop {
  readonly #parts: Pulls;
  readonly #take: (batch: ReceivedMessage[]) => Promise<void>;
  readonly #loop: WakeLoop;
  #consumer: Pick<Consumer, 'fetch'> | undefined;
  #messages: Pick<ConsumerMessages, 'stop'> | undefined;
  #receivedMs = Number.NEGATIVE_INFINITY;
  /** Messages that have come and are not handed over, and their bytes. */
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

  /** Pulls nothing more, or goes on: what it has pulled is handed over. */
  setPaused(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    if (isPaused) this.#endRequest();
    else this.#loop.wake();
  }

  /** Returns how many events no process has finished, how many processes were given, how many requests wait, and the time of the oldest here. */
  async pending() {
    const { num_pending, num_ack_pending, num_waiting } = await this.#parts.durable.info();
    const count = num_pending + num_ack_pending;
    const oldestAt = count > 0 ? this.#oldestAt : undefined;
    return { count, unacknowledged: num_ack_pending, requests: num_waiting, oldestAt };
  }

  /** Returns whether nothing is left of what the stream had at a position; false where the bus does not say. What is left is gathered no longer. */
  async hasPassed(position: number): Promise<boolean> {
    const info = await this.#parts.durable.info().catch(() => undefined);
    if (!info) return false;
    const isPassed = info.num_pending + info.num_ack_pending === 0 || info.ack_floor.stream_seq >= position;
    if (!isPassed) this.#gathering?.abort();
    return isPassed;
  }

  /** Ends the request under way: at once where it brings nothing. */
  #endRequest(): void {
    const messages = this.#messages;
    if (performance.now() - this.#receivedMs > quietMs) messages?.stop();
    else if (this.#parts.requestMs === undefined) setTimeout(() => messages?.stop(), endingMs);
  }

  /** Makes one request. Throws where the consumer has to be looked after. */
  async #round(): Promise<boolean> {
    if (this.#isPaused) return false;
    try {
      this.#consumer ??= await this.#parts.durable.open();
      await this.#pull(this.#consumer);
      return true;
    } catch (error) {
      this.#consumer = undefined;
      // What the next request brings would be taken beside it, out of order.
      await this.#taking;
      throw error;
    }
  }

  /** Receives what one request brings. Throws what ended it, where that is no ordinary end. */
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
        // It is over then, which not every version of NATS says.
        if (++count === pulled.messages) break;
      }
    } catch (error) {
      if (!ordinaryEnds.test((error as Error).message)) throw error;
    } finally {
      clearTimeout(expiry);
    }
  }

  /** Has a message handed over with others; waits while there are two batches. */
  async #receive(message: JsMsg): Promise<void> {
    const { size } = this.#parts;
    this.#receivedMs = performance.now();
    this.#waiting.push(message);
    this.#waitingBytes += message.data.length;
    if (this.#waiting.length >= size || this.#waitingBytes >= batchBytes) this.#gathering?.abort();
    if (this.#waiting.length >= size * 2 || this.#waitingBytes >= batchBytes * 2) await this.#taking;
    // Where there were two, all may be taken by now.
    if (this.#waiting.length > 0) this.#taking ??= this.#takeAll();
  }

  /** Never rejects: what was not acknowledged comes again after the consumer's time to acknowledge. */
  async #takeAll(): Promise<void> {
    while (this.#waiting.length > 0)
      await this.#takeBatch().catch((error: unknown) =>
        this.#parts.log.error({ err: error }, 'a batch could not be taken'),
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
  // Of each header its first value.
  const headers = Object.fromEntries([...(message.headers ?? [])].map(([name, [value = '']]) => [name, value]));
  const content = { subject: message.subject, bytes: message.data, headers };
  return {
    ...content,
    event: readEvent(content),
    acknowledge: () => message.ack(),
    giveBack: (delayMs) => message.nak(delayMs),
  };
}

/** The envelope of any event. */
const anyEnvelope = eventEnvelope.extend({ type: z.string(), data: z.looseObject({}) });

/** Why a message carries no event. */
export const noEvent = 'The message is no event: it is not the JSON of an envelope';

/** Returns the event that a message carries; undefined where it carries none. Never throws. */
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
