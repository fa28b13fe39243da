import type { Socket } from 'node:net';
import { limitReached } from '@customer-platform/service-kit';
import { networkOf } from '../client-address.ts';

/**
 * Bounds the connections on which many headers wait for the rest of their head, also behind a request that is under way: Node keeps them at ten times their size for
 * as long as a head may take. Where they are too many the oldest of those networks are cut that have the most.
 */
export class UnfinishedHeads {
  readonly #most: number;
  readonly #timer: NodeJS.Timeout;
  readonly #sockets = new Set<Socket>();
  /** Those that had an unfinished head at the last look, in the order in which it was first seen. */
  readonly #unfinished = new Set<Socket>();

  /** @param everyMs the interval at which connections are looked at */
  constructor(most = 1_024, everyMs = 500) {
    this.#most = most;
    this.#timer = setInterval(() => this.look(), everyMs);
    this.#timer.unref();
  }

  /** Watches a connection until it closes. */
  watch(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#unfinished.delete(socket);
    });
  }

  /** Looks at all connections once. */
  look(): void {
    for (const socket of this.#sockets) {
      if (hasHeaders(socket)) this.#unfinished.add(socket);
      else this.#unfinished.delete(socket);
    }
    const tooMany = this.#unfinished.size - this.#most;
    if (tooMany <= 0) return;
    const byNetwork = Map.groupBy(this.#unfinished, (socket) => networkOf(socket.remoteAddress ?? ''));
    const networks = [...byNetwork.values()];
    const counts = networks.map((sockets) => sockets.length);
    const kept = mostOfEach(counts, this.#most);
    const beyond = new Set(networks.flatMap((sockets) => sockets.slice(0, Math.max(0, sockets.length - kept))));
    for (const socket of [...this.#unfinished].filter((one) => beyond.has(one)).slice(0, tooMany)) {
      limitReached('unfinished_heads');
      socket.destroy();
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/**
 * Returns whether Node has taken headers of a head that is not complete: it hands them over 32 at a time, and forgets them with the head. Fewer are bytes in its
 * parser, sixteen KiB at most.
 */
function hasHeaders(socket: Socket): boolean {
  const { parser } = socket as Socket & { parser?: { _headers?: unknown[] } | null };
  return (parser?._headers?.length ?? 0) > 0;
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
