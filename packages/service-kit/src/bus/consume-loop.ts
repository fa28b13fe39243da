import type { Envelope } from '@customer-platform/contracts/core';
import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import type { MsgHdrs } from '@nats-io/transport-node';
import type { Logger } from '../telemetry/logging.ts';
import type { TraceHeaders } from '../telemetry/telemetry.ts';
import { countWithin } from '../values/count-within.ts';

/** About how many bytes a batch has at most: it becomes one statement, and is in memory several times meanwhile. */
const batchBytes = 4_194_304;
/** Most that a request asks the bus for: however large the events are, few of them wait in memory while none can be taken. */
const pulled = { bytes: 8_388_608, messages: 100 };
/** Time that a request waits there, of which the bus says every half that it does; one without two such signs is lost. */
const longestRequestMs = 10_000;
/** Ends of a request after which the next one gets more; any other says that the consumer has to be looked after. */
const ordinaryEnds = /request timeout|no messages|batch completed|message size exceeds maxbytes/i;
/** Time for which a stop leaves a request to bring what is on its way: what is thrown away comes again only later. */
const endingMs = 200;
/** Time after its end at which a request is over that the bus has not ended: NATS up to 2.9.15 forgets one if a message comes in that moment. */
const graceMs = 100;

/** Longest sleep of a paused loop, which is woken when it is to go on. */
const pausedLookMs = 60_000;

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

/** Pulls from one durable consumer and hands over what has come, as soon as the batch before is done. */
export class ConsumeLoop {
  readonly #batches: Batches;
  readonly #take: (batch: ReceivedMessage[]) => Promise<void>;
  readonly #log: Logger;
  readonly #open: () => Promise<Pick<Consumer, 'fetch'>>;
  readonly #loop: Promise<void>;
  #messages: Pick<ConsumerMessages, 'stop'> | undefined;
  /** Messages that have come and are not handed over, and their bytes. */
  readonly #waiting: JsMsg[] = [];
  #waitingBytes = 0;
  #taking: Promise<void> | undefined;
  #wakeUp: (() => void) | undefined;
  #endGathering: (() => void) | undefined;
  #stopping = false;
  #isPaused = false;
  #oldestAt: Date | undefined;

  constructor(
    batches: Batches,
    take: (batch: ReceivedMessage[]) => Promise<void>,
    log: Logger,
    open: () => Promise<Pick<Consumer, 'fetch'>>,
  ) {
    this.#batches = batches;
    this.#take = take;
    this.#log = log;
    this.#open = open;
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#endRequest();
    this.#wakeUp?.();
    await this.#loop;
  }

  /** Pulls nothing more, or goes on: what it has pulled is handed over. */
  setPaused(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    if (isPaused) this.#endRequest();
    else this.#wakeUp?.();
  }

  /** Ends the request under way. */
  #endRequest(): void {
    const messages = this.#messages;
    setTimeout(() => messages?.stop(), endingMs);
  }

  /** Hands over what it gathers: somebody waits for it. */
  hurry(): void {
    this.#endGathering?.();
  }

  /** Time of the oldest message that it has pulled and that is not handed over; undefined where there is none. */
  get oldestAt(): Date | undefined {
    return this.#oldestAt;
  }

  async #run(): Promise<void> {
    for (let failures = 0; !this.#stopping; ) {
      if (this.#isPaused) {
        await this.#pause(pausedLookMs);
        continue;
      }
      try {
        const consumer = await this.#open();
        failures = 0;
        while (!this.#stopping && !this.#isPaused) await this.#pull(consumer);
      } catch (error) {
        failures++;
        if (failures === 1 || failures % 30 === 0)
          this.#log.warn({ err: error, failures }, 'the consumer waits for the bus');
      } finally {
        // What the next request brings would be taken beside it, out of order.
        await this.#taking;
      }
      if (!this.#stopping && !this.#isPaused) await this.#pause(Math.min(100 * 2 ** failures, 1_000));
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #gather(ms: number): Promise<void> {
    const gathered = this.#pause(ms);
    this.#endGathering = this.#wakeUp;
    await gathered;
    this.#endGathering = undefined;
  }

  /** Receives what one request brings. Throws what ended it, where that is no ordinary end. */
  async #pull(consumer: Pick<Consumer, 'fetch'>): Promise<void> {
    const { requestMs = longestRequestMs } = this.#batches;
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
    const { size } = this.#batches;
    this.#waiting.push(message);
    this.#waitingBytes += message.data.length;
    if (this.#waiting.length >= size || this.#waitingBytes >= batchBytes) this.#wakeUp?.();
    if (this.#waiting.length >= size * 2 || this.#waitingBytes >= batchBytes * 2) await this.#taking;
    this.#taking ??= Promise.resolve()
      .then(() => this.#takeAll())
      .catch((error: unknown) => {
        // Nobody awaits it while messages come. What was not acknowledged comes again.
        this.#taking = undefined;
        this.#log.error({ err: error }, 'a batch could not be read');
      });
  }

  async #takeAll(): Promise<void> {
    const { size, gatherMs } = this.#batches;
    while (this.#waiting.length > 0) {
      this.#oldestAt = new Date(this.#waiting[0]!.info.timestampNanos / 1_000_000);
      const isWhole = this.#waiting.length >= size || this.#waitingBytes >= batchBytes;
      if (gatherMs > 0 && !isWhole && !this.#stopping) await this.#gather(gatherMs);
      const sizes = this.#waiting.map(({ data }) => data.length);
      const count = countWithin(sizes, { items: size, bytes: batchBytes });
      this.#waitingBytes -= sizes.slice(0, count).reduce((sum, size) => sum + size, 0);
      const batch = this.#waiting.splice(0, count).map(receivedMessage);
      // What was not acknowledged comes again after the consumer's time to acknowledge.
      await this.#take(batch).catch((error: unknown) => this.#log.error({ err: error }, 'a batch could not be taken'));
    }
    this.#oldestAt = undefined;
    this.#taking = undefined;
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

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Why a message carries no event. */
export const noEvent = 'The message is no event: it is not the JSON of an envelope';

/** Returns the event that a message carries; undefined where it carries none. Never throws. */
export function readEvent({ bytes, headers }: MessageContent): ReceivedEvent | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  let envelope: Partial<Envelope> | null;
  try {
    envelope = JSON.parse(text) as Partial<Envelope> | null;
  } catch {
    return undefined;
  }
  const { id, type, timestamp, account, mode, data } = envelope ?? {};
  const isEvent =
    [id, account].every((value) => typeof value === 'string' && uuid.test(value)) &&
    [type, timestamp].every((value) => typeof value === 'string') &&
    (mode === 'live' || mode === 'test') &&
    typeof data === 'object' &&
    data !== null;
  if (!isEvent) return undefined;
  const sequence = Number(headers['Event-Sequence'] ?? 0);
  return {
    ...(envelope as Envelope),
    text,
    sequence: Number.isSafeInteger(sequence) ? sequence : 0,
    trace: headers.traceparent ? { traceparent: headers.traceparent } : undefined,
  };
}

/** The trace that a message carries. */
export function traceOf(headers: MsgHdrs | undefined): TraceHeaders | undefined {
  const traceparent = headers?.get('traceparent');
  return traceparent ? { traceparent } : undefined;
}
