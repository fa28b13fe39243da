import { connect, type Socket } from 'node:net';

/** A connection on which a test writes a request in parts. */
export class SlowClient {
  /** Everything received. */
  all = '';
  isClosed = false;
  readonly #socket: Socket;

  constructor(url: string, text: string) {
    const { hostname, port } = new URL(url);
    this.#socket = connect(Number(port), hostname);
    this.#socket.on('data', (chunk) => (this.all += chunk.toString('latin1')));
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', () => (this.isClosed = true));
    this.send(text);
  }

  /** Sends the head of a POST with Expect: 100-continue. The 100 shows that the gateway is ready for the body. */
  static post(url: string, path: string, length: number, key?: string): SlowClient {
    const lines = [`POST ${path} HTTP/1.1`, 'Host: x', 'Content-Type: application/json', `Content-Length: ${length}`];
    if (key) lines.push(`Authorization: Bearer ${key}`);
    return new SlowClient(url, [...lines, 'Expect: 100-continue', '', ''].join('\r\n'));
  }

  get isContinued(): boolean {
    return this.all.startsWith('HTTP/1.1 100');
  }

  /** Status of the response, or undefined until it arrives. */
  get status(): number | undefined {
    const status = /HTTP\/1\.1 ([2-5]\d\d)/.exec(this.all)?.[1];
    return status === undefined ? undefined : Number(status);
  }

  send(text: string | Buffer): void {
    this.#socket.write(text);
  }

  /** Returns the status of the response. Rejects after 20 s without one, or if the connection closes first. */
  responseStatus(): Promise<number> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const { status } = this;
        if (status === undefined) return;
        clearTimeout(timer);
        resolve(status);
      };
      const fail = (why: string) => {
        clearTimeout(timer);
        reject(new Error(`${why}; so far: ${this.all}`));
      };
      const timer = setTimeout(() => fail('no response within 20 s'), 20_000);
      this.#socket.on('data', look).on('close', () => fail('closed without a response'));
      look();
    });
  }

  end(): void {
    this.#socket.destroy();
  }
}
