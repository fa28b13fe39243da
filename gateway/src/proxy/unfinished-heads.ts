import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { limitReached } from '@customer-platform/service-kit';
import { networkOf } from '../client-address.ts';

/**
 * Bounds the connections on which a part of a head waits for the rest of it: Node keeps each header that came, ten times its size, for as long as a head may take.
 * Where they are too many the oldest of those networks are cut that have the most.
 */
export class UnfinishedHeads {
  readonly #most: number;
  readonly #timer: NodeJS.Timeout;
  /** Open connections without a request under way, with the bytes that had been read of each when its last one ended; the oldest first. */
  readonly #waiting = new Map<Socket, number>();

  /** @param everyMs the interval at which connections are looked at */
  constructor(most = 1_024, everyMs = 500) {
    this.#most = most;
    this.#timer = setInterval(() => this.look(), everyMs);
    this.#timer.unref();
  }

  /** Watches a connection until it closes. */
  watch(socket: Socket): void {
    this.#waiting.set(socket, 0);
    socket.once('close', () => this.#waiting.delete(socket));
  }

  /** Takes note that a head is there, and its request under way until the response closes. */
  begin(socket: Socket, response: ServerResponse): void {
    this.#waiting.delete(socket);
    response.once('close', () => {
      if (!socket.destroyed) this.#waiting.set(socket, socket.bytesRead);
    });
  }

  /** Looks at all connections once. */
  look(): void {
    const unfinished = [...this.#waiting]
      .filter(([socket, before]) => socket.bytesRead > before)
      .map(([socket]) => socket);
    if (unfinished.length <= this.#most) return;
    const networks = [...Map.groupBy(unfinished, (socket) => networkOf(socket.remoteAddress ?? '')).values()];
    const kept = mostOfEach(
      networks.map((sockets) => sockets.length),
      this.#most,
    );
    for (const sockets of networks) {
      for (const socket of sockets.slice(0, Math.max(0, sockets.length - kept))) {
        limitReached('unfinished_heads');
        socket.destroy();
      }
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** Returns how many each may have so that all together have no more than `most`, where each has `counts`. */
function mostOfEach(counts: readonly number[], most: number): number {
  let [left, kept] = [most, 0];
  const ascending = counts.toSorted((one, other) => one - other);
  for (const [index, count] of ascending.entries()) {
    kept = Math.floor(left / (ascending.length - index));
    if (count > kept) return kept;
    left -= count;
  }
  return kept;
}
