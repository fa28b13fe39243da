import type { Envelope } from '@customer-platform/contracts/core';
import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import type { MsgHdrs } from '@nats-io/transport-node';
import type { Logger } from './logging.ts';
import type { TraceHeaders } from './telemetry.ts';

/** One event as a consumer gets it. */
export interface ReceivedEvent<Data = unknown> extends Envelope<Data> {
  /** Order of the publishing service's events; of two events of one resource, the later change has the greater. */
  sequence: number;
  /** The envelope's exact text. */
  text: string;
  trace: TraceHeaders | undefined;
}

/** An event with its acknowledgement. */
export interface Delivery {
  event: ReceivedEvent;
  acknowledge(): void;
  /** Gives it back to the bus, to come again after `delayMs`. */
  giveBack(delayMs: number): void;
}

/** Pulls from one durable consumer and hands over what has come, as soon as the batch before is done. */
export class ConsumeLoop {
  readonly #batchSize: number;
  readonly #take: (batch: Delivery[]) => Promise<void>;
  readonly #log: Logger;
  readonly #open: () => Promise<ConsumerMessages>;
  readonly #loop: Promise<void>;
  #messages: ConsumerMessages | undefined;
  #stopping = false;

  constructor(
    batchSize: number,
    take: (batch: Delivery[]) => Promise<void>,
    log: Logger,
    open: () => Promise<ConsumerMessages>,
  ) {
    this.#batchSize = batchSize;
    this.#take = take;
    this.#log = log;
    this.#open = open;
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#messages?.stop();
    await this.#loop;
  }

  async #run(): Promise<void> {
    for (let failures = 0; !this.#stopping; ) {
      try {
        this.#messages = await this.#open();
        failures = 0;
        await this.#drainInBatches(this.#messages);
      } catch (error) {
        failures++;
        if (failures === 1 || failures % 30 === 0)
          this.#log.warn({ err: error, failures }, 'the consumer waits for the bus');
      }
      if (!this.#stopping) await new Promise((resolve) => setTimeout(resolve, Math.min(100 * 2 ** failures, 1_000)));
    }
  }

  async #drainInBatches(messages: ConsumerMessages): Promise<void> {
    const waiting: JsMsg[] = [];
    let taking: Promise<void> | undefined;
    const takeAll = async () => {
      while (waiting.length > 0) await this.#take(waiting.splice(0, this.#batchSize).map(deliveryOf));
      taking = undefined;
    };
    for await (const message of messages) {
      waiting.push(message);
      if (waiting.length >= this.#batchSize * 2) await taking;
      taking ??= Promise.resolve().then(takeAll);
    }
    await taking;
  }
}

function deliveryOf(message: JsMsg): Delivery {
  const text = message.string();
  const event: ReceivedEvent = {
    ...(JSON.parse(text) as Envelope),
    text,
    sequence: Number(message.headers?.get('Event-Sequence') ?? 0),
    trace: traceOf(message.headers),
  };
  return {
    event,
    acknowledge: () => message.ack(),
    giveBack: (delayMs) => message.nak(delayMs),
  };
}

/** The trace that a message carries. */
export function traceOf(headers: MsgHdrs | undefined): TraceHeaders | undefined {
  const traceparent = headers?.get('traceparent');
  return traceparent ? { traceparent } : undefined;
}
