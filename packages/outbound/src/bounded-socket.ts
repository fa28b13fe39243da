import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** Maximum bytes that a server may send until its connection is secure. A chain of four certificates has 3 to 8 KiB. */
const maxHandshakeBytes = 16_384;

/**
 * A connection to a customer's server over which TLS is started. It fails if the server sends more than 16 KiB before
 * `allow` is called. Neither Node nor its OpenSSL options limit the size of certificates.
 */
export class BoundedSocket extends Duplex {
  readonly #socket: Socket;
  #bytesLeft = maxHandshakeBytes;

  constructor(socket: Socket) {
    super({ readableHighWaterMark: 65_536 });
    this.#socket = socket;
    // An error may occur before the TLS socket listens.
    this.on('error', () => undefined);
    socket.on('data', (bytes) => {
      this.#bytesLeft -= bytes.length;
      if (this.#bytesLeft < 0) this.destroy(new Error('the server sent more bytes than are allowed here'));
      else if (!this.push(bytes)) socket.pause();
    });
    socket.once('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    // The reader may still have buffered bytes to read after the socket's end.
    socket.once('close', () => socket.readableEnded || this.destroy());
  }

  /** Sets the number of bytes that the server may still send. */
  allow(bytes: number): void {
    this.#bytesLeft = bytes;
  }

  /** Behaves as `Socket.setTimeout`. */
  setTimeout(timeoutMs: number): this {
    this.#socket.setTimeout(timeoutMs);
    return this;
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
