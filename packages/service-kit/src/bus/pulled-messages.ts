import { randomUUID } from 'node:crypto';
import { type Msg, type NatsConnection, nanos, type Subscription } from '@nats-io/transport-node';

/** Bytes that are asked of the bus at once: however large the events are, few of them wait in memory while none can be taken. */
const pulledBytes = 8_388_608;
/** Time that a request waits for messages at the bus, unless less is asked for. */
const longestRequestMs = 30_000;
/**
 * Heartbeat of the bus while a request waits. A request without one for twice as long is lost, as with the server that led the consumer: of a
 * cluster that goes on, every second until then is a delay of events.
 */
const heartbeatMs = 5_000;

/**
 * Time after its end at which a request is over that the bus has not ended: NATS 2.9.10, which Debian has, forgets one without a word if a message comes
 * in that moment. So many in a row, in which nothing came, are a bus that is silent.
 */
const graceMs = 100;
const maxSilent = 5;

/** Longest time that a stop waits for what the bus has sent. */
const drainMs = 1_000;

/** Ends of a request after which the next one gets more; any other says that the consumer has to be looked after. */
const ordinaryEnds = /^(?:request timeout|no messages|batch completed|message size exceeds maxbytes)$/i;

/** A message of a durable consumer with its acknowledgement. */
export class PulledMessage {
  readonly #message: Msg;

  constructor(message: Msg) {
    this.#message = message;
  }

  get subject() {
    return this.#message.subject;
  }

  get data() {
    return this.#message.data;
  }

  get headers() {
    return this.#message.headers;
  }

  /** Time at which the stream stored it. */
  get storedAt(): Date {
    // $JS.ACK.[domain.account.]stream.consumer.delivered.sequence.sequence.nanoseconds.pending[.token]
    const tokens = this.#message.reply!.split('.');
    return new Date(Number(tokens[tokens.length > 9 ? 9 : 7]) / 1_000_000);
  }

  acknowledge(): void {
    this.#message.respond('+ACK');
  }

  /** Gives it back to the bus, to come again after `delayMs`. */
  giveBack(delayMs: number): void {
    this.#message.respond(`-NAK ${JSON.stringify({ delay: nanos(delayMs) })}`);
  }

  /** Tells the bus never to send it again. Without a reason: NATS 2.9, which Debian has, ignores a termination with one. */
  terminate(): void {
    this.#message.respond('+TERM');
  }
}

/** A durable consumer of a stream, messages that a request asks it for, and the time that a request waits there. */
interface PulledFrom {
  stream: string;
  consumer: string;
  batch: number;
  /** The service whose inbox the messages come to. */
  service: string;
  requestMs?: number | undefined;
}

/**
 * The messages of a durable consumer, pulled by bytes as well as by number: a request asks for 8 MiB, and the next follows when it has
 * ended and all that it brought was taken. The client's own `consume` shares its bytes among requests that overlap: after many small
 * messages one that is larger than the rest of them stops it for half a minute. Each request has an inbox of its own, by which its end is told from
 * that of one before. Ends with an error where the consumer is missing, or the bus says nothing of requests.
 */
export class PulledMessages implements AsyncIterable<PulledMessage> {
  readonly #connection: NatsConnection;
  readonly #subject: string;
  readonly #batch: number;
  readonly #requestMs: number;
  readonly #inbox: string;
  readonly #subscription: Subscription;
  readonly #silence: NodeJS.Timeout;
  readonly #messages: PulledMessage[] = [];
  /** Messages that the request under way may bring yet; undefined where there is none. */
  #left: number | undefined;
  #requests = 0;
  /** Requests in a row, with that under way, of which the bus has said nothing. */
  #silent = 0;
  #expiry: NodeJS.Timeout | undefined;
  #end: { error?: Error } | undefined;
  #isStopping = false;
  #wakeUp: (() => void) | undefined;

  constructor(
    connection: NatsConnection,
    { stream, consumer, batch, service, requestMs = longestRequestMs }: PulledFrom,
  ) {
    this.#connection = connection;
    this.#requestMs = requestMs;
    this.#subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`;
    this.#batch = batch;
    this.#inbox = `_INBOX.${service}.pull.${randomUUID()}`;
    this.#silence = setTimeout(() => {
      if (this.#left !== undefined) this.#finish(new Error('the bus is silent about a request'));
    }, heartbeatMs * 2);
    const callback = (error: Error | null, message: Msg) => (error ? this.#finish(error) : this.#receive(message));
    this.#subscription = connection.subscribe(`${this.#inbox}.*`, { callback });
    void this.#subscription.closed.then(() => this.#finish());
  }

  /**
   * Pulls nothing more: what has come is still handed over, and what is on its way. Thrown away it would come again only later, behind what
   * follows it.
   */
  stop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const late = setTimeout(() => this.#finish(), drainMs);
    const drained = this.#subscription.isClosed() ? Promise.resolve() : this.#subscription.drain();
    void drained
      .catch(() => undefined)
      .finally(() => {
        clearTimeout(late);
        this.#finish();
      });
  }

  /** Pulls nothing more: what has come is still handed over, what is on its way is not. */
  abandon(): void {
    this.#finish();
  }

  /** Yields messages in their order. Throws what ended it, after the last of them. */
  async *[Symbol.asyncIterator](): AsyncGenerator<PulledMessage, void> {
    try {
      for (;;) {
        // Not one by one from the front: that would copy the rest each time.
        const arrived = this.#messages.splice(0);
        yield* arrived;
        if (arrived.length > 0) continue;
        if (this.#end?.error) throw this.#end.error;
        if (this.#end) return;
        this.#pull();
        await new Promise<void>((resolve) => {
          this.#wakeUp = resolve;
        });
      }
    } finally {
      this.#finish();
    }
  }

  #pull(): void {
    if (this.#left !== undefined || this.#isStopping) return;
    this.#left = this.#batch;
    this.#requests++;
    this.#silent++;
    this.#silence.refresh();
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(() => this.#expire(), this.#requestMs + graceMs);
    const request = {
      batch: this.#batch,
      max_bytes: pulledBytes,
      expires: nanos(this.#requestMs),
      // The end of a short request says as much, and the bus refuses a heartbeat that is longer than half of its request.
      ...(this.#requestMs > 2 * heartbeatMs ? { idle_heartbeat: nanos(heartbeatMs) } : {}),
    };
    this.#connection.publish(this.#subject, JSON.stringify(request), { reply: this.#reply });
  }

  /** The inbox of the request under way. */
  get #reply(): string {
    return `${this.#inbox}.${this.#requests}`;
  }

  /** The request is over, and nothing has said so. */
  #expire(): void {
    if (this.#left === undefined) return;
    this.#left = undefined;
    if (this.#silent === maxSilent) this.#finish(new Error('the bus is silent about requests'));
    this.#wake();
  }

  #receive(message: Msg): void {
    this.#silence.refresh();
    this.#silent = 0;
    if (message.subject.startsWith(this.#inbox)) {
      if (message.subject !== this.#reply) return; // the end of a request that is over
      const { code = 0, description = '' } = message.headers ?? {};
      if (code === 100) return; // a heartbeat
      const hasCome = this.#left !== this.#batch;
      // One message larger than all that a request may bring would be refused for ever.
      const isOrdinary = ordinaryEnds.test(description) && (hasCome || !/maxbytes/i.test(description));
      if (isOrdinary) this.#left = undefined;
      else this.#finish(new Error(`the bus ended a request: ${code} ${description}`));
    } else {
      this.#messages.push(new PulledMessage(message));
      if (this.#left !== undefined && --this.#left === 0) this.#left = undefined;
    }
    this.#wake();
  }

  #finish(error?: Error): void {
    if (this.#end) return;
    this.#end = error ? { error } : {};
    clearTimeout(this.#silence);
    clearTimeout(this.#expiry);
    this.#subscription.unsubscribe();
    this.#wake();
  }

  #wake(): void {
    this.#wakeUp?.();
    this.#wakeUp = undefined;
  }
}
