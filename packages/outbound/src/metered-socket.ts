import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { HandshakeMeter } from './handshake-meter.ts';

/**
 * Maximum bytes that a server may send until its connection is secure: four certificates have 3 to 8 KiB, and each more of a hostile server's
 * is a signature to check.
 */
const maxHandshakeBytes = 16_384;

/** A connection to a customer's server, over which TLS is started: until it is secure, what the server sends is bounded and metered. */
export class MeteredSocket extends Duplex {
  readonly #socket: Socket;
  readonly #meter: HandshakeMeter;
  readonly #owner: string;
  #received = 0;
  #isSecure = false;
  /** Parts that wait until the owner has rested. */
  #waiting = 0;

  constructor(socket: Socket, meter: HandshakeMeter, owner: string) {
    super({ readableHighWaterMark: 65_536 });
    this.#socket = socket;
    this.#meter = meter;
    this.#owner = owner;
    socket.on('data', (bytes) => {
      this.#received += bytes.length;
      if (this.#isSecure || this.#received <= maxHandshakeBytes) this.#pass(bytes);
      else this.destroy(new Error(`more than ${maxHandshakeBytes} bytes came before the connection was secure`));
    });
    socket.once('end', () => this.#pass(null));
    socket.on('error', (error) => this.destroy(error));
    socket.once('close', () => this.destroy());
  }

  /** From now on what comes is passed on as it is. */
  secured(): void {
    this.#isSecure = true;
  }

  /** As a socket has it. */
  setTimeout(timeoutMs: number): this {
    this.#socket.setTimeout(timeoutMs);
    return this;
  }

  #pass(bytes: Buffer | null): void {
    if (this.#isSecure && this.#waiting === 0) {
      this.#push(bytes);
      return;
    }
    this.#waiting++;
    this.#meter.run(this.#owner, () => {
      this.#waiting--;
      this.#push(bytes);
    });
  }

  #push(bytes: Buffer | null): void {
    if (!this.destroyed && !this.push(bytes)) this.#socket.pause();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(bytes, done);
  }

  override _writev(parts: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#socket.write(Buffer.concat(parts.map(({ chunk }) => chunk)), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
