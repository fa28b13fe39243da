import { type buildConnector, Client, type Dispatcher } from 'undici';

/** Requests started on a client's current connection: the second and later ones reuse it. */
type Connection = { requests: number };

/** A client with one connection at a time. It tells a `ResendingHandler` which connection its request uses. */
export class ConnectionClient extends Client {
  readonly #connection: Connection;

  constructor(origin: URL, poolOptions: object) {
    const options = poolOptions as Client.Options & { connect: buildConnector.connector };
    const connection: Connection = { requests: 0 };
    const connect: buildConnector.connector = (target, callback) => {
      options.connect(target, (...result) => {
        connection.requests = 0;
        callback(...result);
      });
    };
    super(origin, { ...options, connect });
    this.#connection = connection;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (handler instanceof ResendingHandler) handler.connection = this.#connection;
    return super.dispatch(options, handler);
  }
}

/**
 * Passes a request's events on to `handler`. Calls `resend` instead if a reused connection is lost before any byte of
 * the response. Idle connections end that way, so it is no decision of the server. `resend` returns whether it sends
 * the request again, over a new connection.
 */
export class ResendingHandler implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #resend: () => boolean;
  /** Connection of the request. Set when a client dispatches it. */
  connection: Connection | undefined;
  #isReused = false;
  #hasResponse = false;

  constructor(handler: Dispatcher.DispatchHandler, resend: () => boolean) {
    this.#handler = handler;
    this.#resend = resend;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    if (this.connection) this.#isReused = this.connection.requests++ > 0;
    this.#handler.onRequestStart?.(controller, context);
  }

  onResponseStarted(): void {
    this.#hasResponse = true;
    this.#handler.onResponseStarted?.();
  }

  onResponseStart(...event: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>): void {
    this.#handler.onResponseStart?.(...event);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#handler.onResponseData?.(controller, chunk);
  }

  onResponseEnd(...event: Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseEnd']>>): void {
    this.#handler.onResponseEnd?.(...event);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isReused && !this.#hasResponse && isConnectionLost(error) && this.#resend()) return;
    this.#handler.onResponseError?.(controller, error);
  }
}

function isConnectionLost(error: Error): boolean {
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');
}
