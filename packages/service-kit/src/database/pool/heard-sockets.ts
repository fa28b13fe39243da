import type { Socket } from 'node:net';

interface Heard {
  dialledAtMs: number;
  bytesRead: number;
  bytesWritten: number;
  /** Time at which something was last read, and at which something was first written after that. */
  readAtMs: number;
  askedAtMs: number | undefined;
}

/**
 * Open sockets and when something was last heard on each. It is told by their byte counters, which are sampled: that costs nothing a packet, and holds
 * under TLS. Times are of `performance.now`.
 *
 * They end without an error of ours, since the driver forgets statements that it is given between a socket's error and its end.
 */
export class HeardSockets {
  readonly #heard = new Map<Socket, Heard>();

  get size(): number {
    return this.#heard.size;
  }

  add(socket: Socket): void {
    const now = performance.now();
    this.#heard.set(socket, { dialledAtMs: now, bytesRead: 0, bytesWritten: 0, readAtMs: now, askedAtMs: now });
    socket.once('close', () => this.#heard.delete(socket));
  }

  /** Has a socket's place taken by the encrypted one that was made of it. */
  replace(socket: Socket, secure: Socket): void {
    this.#heard.delete(socket);
    if (!secure.destroyed) this.add(secure);
  }

  sample(now: number): void {
    for (const [socket, heard] of this.#heard) {
      const hasRead = socket.bytesRead !== heard.bytesRead;
      const hasWritten = socket.bytesWritten !== heard.bytesWritten;
      if (hasRead) heard.readAtMs = now;
      if (hasRead) heard.askedAtMs = hasWritten ? now : undefined;
      else if (hasWritten) heard.askedAtMs ??= now;
      heard.bytesRead = socket.bytesRead;
      heard.bytesWritten = socket.bytesWritten;
    }
  }

  /** Ends those on which nothing was heard since a time. */
  endUnheardSince(sinceMs: number): void {
    for (const [socket, { readAtMs }] of this.#heard) if (readAtMs < sinceMs) socket.destroy();
  }

  /**
   * Ends those on which nothing was heard since before `sinceMs`, although something was written. Returns whether there were any. An idle one may be among them:
   * it is dialled again when it is needed.
   */
  endUnanswered(sinceMs: number): boolean {
    let isAny = false;
    for (const [socket, { readAtMs, askedAtMs }] of this.#heard) {
      if ((askedAtMs ?? readAtMs) >= sinceMs) continue;
      isAny = true;
      socket.destroy();
    }
    return isAny;
  }

  /** Ends those that were dialled before a time. */
  endDialledBefore(ms: number): void {
    for (const [socket, { dialledAtMs }] of this.#heard) if (dialledAtMs < ms) socket.destroy();
  }
}
