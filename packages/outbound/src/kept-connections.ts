import { type buildConnector, Client, type Dispatcher } from 'undici';

/** Requests that were begun on the connection that a client has now: the second and later ones are on a kept one. */
type Connection = { requests: number };

/** A client of one connection at a time, which tells a `ResendingHandler` over which connection its request goes. */
class ConnectionClient extends Client {
  readonly #connection: Connection;

  constructor(origin: URL, options: Client.Options & { connect: buildConnector.connector }) {
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

/** Makes the clients of a pool whose requests are to be sent with `ResendingHandler`. */
export function connectionClient(origin: URL, options: object): Client {
  return new ConnectionClient(origin, options as Client.Options & { connect: buildConnector.connector });
}

/**
 * Passes a request's events on to `handler`, but has `resend` send it once more where it went over a kept connection that was
 * lost before any byte of a response: the common end of an idle connection, not the server's word. `resend` returns whether it
 * takes the request on, over a new connection.
 */
export class ResendingHandler implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #resend: () => boolean;
  /** Over which connection the request goes; set when a client takes it on. */
  connection: Connection | undefined;
  #isOnKept = false;
  #isAnswered = false;

  constructor(handler: Dispatcher.DispatchHandler, resend: () => boolean) {
    this.#handler = handler;
    this.#resend = resend;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    if (this.connection) this.#isOnKept = this.connection.requests++ > 0;
    this.#handler.onRequestStart?.(controller, context);
  }

  onResponseStarted(): void {
    this.#isAnswered = true;
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
    if (this.#isOnKept && !this.#isAnswered && isConnectionLost(error) && this.#resend()) return;
    this.#handler.onResponseError?.(controller, error);
  }
}

function isConnectionLost(error: Error): boolean {
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');
}
