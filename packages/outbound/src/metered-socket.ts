import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { WorkMeter } from '@customer-platform/service-kit';
import { allowBytes, takeBytes } from './allowance.ts';

/**
 * Maximum bytes that a server may send until its connection is secure: four certificates have 3 to 8 KiB, and each more of a hostile server's
 * is a signature to check.
 */
const maxHandshakeBytes = 16_384;
/** The same for servers of an owner one of whose handshakes was dear: 16 KiB of certificates can be made to take 250 ms at once. */
const maxBytesAfterDear = 4_096;

/**
 * A connection to a customer's server, over which TLS is started: what the server sends until it is secure is bounded, and what TLS makes of it is
 * metered, also afterwards: a server may send new session tickets for as long as it likes.
 */
export class MeteredSocket extends Duplex {
  readonly #socket: Socket;
  readonly #meter: WorkMeter;
  readonly #owner: string;
  /** Pieces that came and wait until the owner has rested. */
  #waiting = 0;

  constructor(socket: Socket, meter: WorkMeter, owner: string) {
    super({ readableHighWaterMark: 65_536 });
    this.#socket = socket;
    this.#meter = meter;
    this.#owner = owner;
    allowBytes(this, meter.wasDear(owner) ? maxBytesAfterDear : maxHandshakeBytes);
    // Bytes come before TLS listens, which waits until the owner has rested; who starts it looks at `errored`.
    this.on('error', () => undefined);
    socket.on('data', (bytes) => {
      if (takeBytes(this, bytes.length)) this.#pass(bytes);
    });
    socket.once('end', () => this.#pass(null));
    // Behind what came before: it may wait.
    socket.on('error', (error) => this.#meter.run(this.#owner, () => this.destroy(error)));
    socket.once('close', () => this.#meter.run(this.#owner, () => this.destroy()));
  }

  /** Says that the connection is secure: it may bring so many bytes more, or what others say from now on. */
  secured(bytes = Number.POSITIVE_INFINITY): void {
    allowBytes(this, bytes);
  }

  /** As a socket has it. */
  setTimeout(timeoutMs: number): this {
    this.#socket.setTimeout(timeoutMs);
    return this;
  }

  #pass(bytes: Buffer | null): void {
    this.#waiting++;
    const hasRun = this.#meter.run(this.#owner, () => {
      this.#waiting--;
      if (this.destroyed) return;
      if (this.push(bytes)) this.#socket.resume();
      else this.#socket.pause();
    });
    if (!hasRun) this.#socket.pause();
  }

  override _read(): void {
    if (this.#waiting === 0) this.#socket.resume();
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
