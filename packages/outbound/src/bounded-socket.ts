import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** Maximum bytes that a server may send until its connection is secure: four certificates have 3 to 8 KiB. */
const maxHandshakeBytes = 16_384;

/**
 * A connection to a customer's server over which TLS is started. It fails when the server sends more than 16 KiB until `allow`: neither Node nor
 * OpenSSL's options in Node have a limit for certificates.
 */
export class BoundedSocket extends Duplex {
  readonly #socket: Socket;
  #bytesLeft = maxHandshakeBytes;

  constructor(socket: Socket) {
    super({ readableHighWaterMark: 65_536 });
    this.#socket = socket;
    // An error may come before TLS listens.
    this.on('error', () => undefined);
    socket.on('data', (bytes) => {
      this.#bytesLeft -= bytes.length;
      if (this.#bytesLeft < 0) this.destroy(new Error('more bytes came than are allowed here'));
      else if (!this.push(bytes)) socket.pause();
    });
    socket.once('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    // After the end of what came, the reader may still have some of it to read.
    socket.once('close', () => socket.readableEnded || this.destroy());
  }

  /** Allows so many bytes from now on. */
  allow(bytes: number): void {
    this.#bytesLeft = bytes;
  }

  /** As a socket has it. */
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
