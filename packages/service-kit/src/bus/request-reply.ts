import type { InternalRequest } from '@customer-platform/contracts/core';
import { createInbox, type Msg, headers as newHeaders, type Subscription } from '@nats-io/transport-node';
import type { z } from 'zod';
import { serviceUnavailable } from '../database/database-errors.ts';
import type { Logger } from '../telemetry/logging.ts';
import { inSpan, SpanKind, traceHeaders } from '../telemetry/telemetry.ts';
import { waitUntil, withTimeout } from '../values/with-timeout.ts';
import type { BusConnection } from './bus-connection.ts';
import { traceOf } from './consume-loop.ts';

/** Default timeout of an internal request. */
const defaultRequestTimeoutMs = 5_000;
/** Time that `close` waits for the replies to requests that were taken. */
const finishMs = 5_000;

/** Part of NATS' bound on a message that headers take. */
const headerBytes = 4_096;

/** A request to every process. */
export interface Broadcast {
  readonly key: string;
  readonly input: z.ZodType;
  readonly reply: z.ZodType;
}

/** The end of the wait for replies to a broadcast. */
export interface Until<Reply> {
  isComplete(replies: readonly Reply[]): boolean;
  timeoutMs: number;
}

/** Handles one internal request, for an account whose clock is ahead of the real time by `aheadMs`, as far as the asker knows. */
export type RequestHandler<Request extends InternalRequest> = (
  accountId: string,
  input: z.output<Request['input']>,
  aheadMs: number,
) => Promise<z.input<Request['reply']>>;

/** An internal request on the bus. */
interface AskedRequest {
  account_id: string;
  input: unknown;
  /** Left out where the account goes by the real time. */
  ahead_ms?: number;
}

/** Options of requests. */
export interface RequestOptions {
  /** First token of every subject and name of the stream. */
  prefix: string;
  service: string;
  log: Logger;
  /** Timeout of `ask`; 5 s unless given. */
  requestTimeoutMs?: number;
  /** Returns by how many milliseconds an account's clock is ahead of the real time, which requests for it say; never unless given. */
  aheadOf?: (accountId: string) => number;
}

/** Requests between services over NATS, and their replies. */
export class RequestReply {
  protected readonly connection: BusConnection;
  protected readonly prefix: string;
  protected readonly service: string;
  protected readonly log: Logger;
  readonly #timeoutMs: number;
  readonly #aheadOf: (accountId: string) => number;
  /** Subscriptions of `handle` on the present connection, and requests that they took and have no reply yet. */
  #handlers: Subscription[] = [];
  #handling = 0;

  constructor(
    connection: BusConnection,
    { prefix, service, log, requestTimeoutMs = defaultRequestTimeoutMs, aheadOf = () => 0 }: RequestOptions,
  ) {
    this.connection = connection;
    this.prefix = prefix;
    this.service = service;
    this.log = log;
    this.#timeoutMs = requestTimeoutMs;
    this.#aheadOf = aheadOf;
    connection.onConnection(() => {
      this.#handlers = [];
    });
  }

  /** Asks another service and returns its reply. Throws 503 service_unavailable where there is none within `timeoutMs`. */
  async ask<Request extends InternalRequest>(
    request: Request,
    accountId: string,
    input: z.input<Request['input']>,
    timeoutMs = this.#timeoutMs,
  ): Promise<z.output<Request['reply']>> {
    const subject = `${this.prefix}.request.${request.service}.${request.key}`;
    const options = {
      kind: SpanKind.CLIENT,
      attributes: spanAttributes('request', subject),
      continuesOnly: true,
    } as const;
    return await inSpan(`request ${subject}`, options, async () => {
      const headers = newHeaders();
      for (const [name, value] of Object.entries(traceHeaders())) headers.set(name, value);
      // The handler may have yet to hear how far the account's clock has come: it does the work at the asker's time at the earliest.
      const aheadMs = this.#aheadOf(accountId);
      const payload = { account_id: accountId, input, ...(aheadMs > 0 ? { ahead_ms: aheadMs } : {}) };
      const options = { noMux: true, headers, timeout: timeoutMs };
      // The client's own timeout ends with its connection.
      const asking = async () => {
        const { current } = this.connection;
        const body = JSON.stringify(payload);
        // The client refuses it only after it has begun to wait for the reply.
        const most = current.info!.max_payload - headerBytes;
        if (Buffer.byteLength(body) > most) throw new Error(`the request has more than ${most} bytes`);
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

  /** Handles an internal request; the processes of one service share the work. */
  handle<Request extends InternalRequest>(request: Request, handle: RequestHandler<Request>): void {
    const subject = `${this.prefix}.request.${request.service}.${request.key}`;
    // The connection is closed by then; the asker's request ends by its timeout.
    const unsent = (error: unknown) => this.log.warn({ err: error, subject }, 'a reply could not be sent');
    const take = (message: Msg) => void this.#handleOne(request, message, handle).catch(unsent);
    this.subscribe({ subject, take, queue: this.service }, (subscription) => this.#handlers.push(subscription));
  }

  /**
   * Asks every process that handles a broadcast, and returns the replies that came until `isComplete` says so of them, or `timeoutMs` is
   * over; what is no reply of its shape is left out.
   */
  async askAll<Message extends Broadcast>(
    { key, reply }: Message,
    input: z.input<Message['input']>,
    { isComplete, timeoutMs }: Until<z.output<Message['reply']>>,
  ): Promise<z.output<Message['reply']>[]> {
    if (!this.connection.isConnected) return [];
    const connection = this.connection.current;
    const inbox = createInbox(`_INBOX.${this.service}.reply`);
    const replies: z.output<Message['reply']>[] = [];
    const { promise: complete, resolve } = Promise.withResolvers<void>();
    const callback = (error: Error | null, message: Msg) => {
      // One without bytes is NATS', which says that nobody handles it.
      const parsed = error || message.data.length === 0 ? undefined : reply.safeParse(message.json());
      if (parsed?.success) replies.push(parsed.data as z.output<Message['reply']>);
      if (isComplete(replies)) resolve();
    };
    const subscription = connection.subscribe(inbox, { callback });
    try {
      connection.publish(this.#broadcastSubject(key), JSON.stringify(input), { reply: inbox });
      // Whoever has not replied by then is left out.
      await withTimeout(timeoutMs, complete).catch(() => undefined);
      return replies;
    } finally {
      subscription.unsubscribe();
    }
  }

  /** Replies to a broadcast, in every process. */
  handleAll<Message extends Broadcast>(
    { key, input: schema }: Message,
    handle: (input: z.output<Message['input']>) => Promise<z.input<Message['reply']>>,
  ): void {
    const subject = this.#broadcastSubject(key);
    const respond = async (message: Msg) => {
      try {
        const input = schema.parse(message.json()) as z.output<Message['input']>;
        message.respond(JSON.stringify(await handle(input)));
      } catch (error) {
        this.log.warn({ err: error, subject }, 'a broadcast has no reply from here');
      }
    };
    this.subscribe({ subject, take: (message) => void respond(message) });
  }

  #broadcastSubject(key: string): string {
    return `${this.prefix}.broadcast.${key}`;
  }

  /** Subscribes on every connection; `subscribed` gets each subscription. */
  protected subscribe(
    { subject, take, queue }: Listener,
    subscribed: (subscription: Subscription) => void = () => undefined,
  ): void {
    const callback = (error: Error | null, message: Msg) => {
      try {
        if (error) throw error;
        take(message);
      } catch (cause) {
        this.log.error({ err: cause, subject }, 'a message of the bus could not be taken');
      }
    };
    const options = queue === undefined ? { callback } : { callback, queue };
    this.connection.onConnection((current) => subscribed(current.subscribe(subject, options)));
  }

  /** Takes no more requests, and waits up to 5 s for the replies to those it took. */
  protected async finish(): Promise<void> {
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
    handle: RequestHandler<Request>,
  ): Promise<void> {
    this.#handling++;
    try {
      const { subject } = message;
      const attributes = spanAttributes('process', subject);
      const traced = {
        kind: SpanKind.SERVER,
        attributes,
        parent: traceOf(message.headers),
        continuesOnly: true,
      } as const;
      await inSpan(`process ${subject}`, traced, async () => {
        const { account_id, input, ahead_ms: aheadMs = 0 } = message.json<AskedRequest>();
        const reply = await handle(account_id, request.input.parse(input) as z.output<Request['input']>, aheadMs);
        message.respond(JSON.stringify(reply));
      });
    } catch (error) {
      this.log.error({ err: error, request: request.key }, 'an internal request failed');
      const headers = newHeaders();
      headers.set('Failed', 'true');
      message.respond('', { headers });
    } finally {
      this.#handling--;
    }
  }
}

function spanAttributes(operation: 'request' | 'process', subject: string) {
  return {
    'messaging.system': 'nats',
    'messaging.destination.name': subject,
    'messaging.operation.name': operation,
    'messaging.operation.type': operation === 'request' ? 'send' : 'process',
  };
}

interface Listener {
  subject: string;
  /** Ends nothing by throwing: that is logged. */
  take(message: Msg): void;
  /** The processes that subscribe with one share the messages. */
  queue?: string;
}
