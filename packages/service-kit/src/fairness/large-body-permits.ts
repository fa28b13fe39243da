import { serviceUnavailable } from '../database/database-errors.ts';
import { limitReached } from '../telemetry/limits.ts';

export interface LargeBodyBounds {
  /** Maximum size of a body. */
  bytes: number;
  /** Maximum number of bodies in memory at once, and of one owner. */
  permits: number;
  permitsPerOwner: number;
  /** Maximum wait for a permit. */
  waitMs: number;
}

/** Lets a large body into memory: into `buffer()`, which others get after `release`. */
export interface LargeBodyPermit {
  buffer(): Buffer;
  release(): void;
}

interface Waiter {
  owner: string;
  begin(): void;
}

/**
 * A fair semaphore for large bodies, which are in memory whole: a few permits at once, fewer of one owner; the others wait in the order in
 * which they came, but behind owners who have none, while nothing of their bodies is read. Buffers are used again: they are not garbage that waits to be collected.
 */
export class LargeBodyPermits {
  readonly #bounds: LargeBodyBounds;
  readonly #waiting = new Set<Waiter>();
  readonly #holders: string[] = [];
  readonly #buffers: Buffer[] = [];

  constructor(bounds: LargeBodyBounds) {
    this.#bounds = bounds;
  }

  /** Waits for a permit of an owner: a customer, whose sandbox counts with it. Throws service_unavailable after `waitMs`. */
  async acquire(owner: string): Promise<LargeBodyPermit> {
    const { promise: granted, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { owner, begin: resolve };
    this.#waiting.add(waiter);
    this.#grant();
    const late = () => {
      limitReached('large_bodies');
      reject(serviceUnavailable('Too many large bodies are being read; try again shortly'));
    };
    const timer = setTimeout(late, this.#bounds.waitMs);
    try {
      await granted;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(waiter);
    }
    let buffer: Buffer | undefined;
    return {
      buffer: () => {
        buffer ??= this.#buffers.pop() ?? Buffer.allocUnsafeSlow(this.#bounds.bytes);
        return buffer;
      },
      release: () => {
        if (buffer) this.#buffers.push(buffer);
        this.#holders.splice(this.#holders.indexOf(owner), 1);
        this.#grant();
      },
    };
  }

  #grant(): void {
    const { permits, permitsPerOwner } = this.#bounds;
    const heldBy = ({ owner }: Waiter) => this.#holders.filter((holder) => holder === owner).length;
    while (this.#holders.length < permits) {
      const mayBegin = [...this.#waiting].filter((waiter) => heldBy(waiter) < permitsPerOwner);
      const next = mayBegin.find((waiter) => heldBy(waiter) === 0) ?? mayBegin[0];
      if (!next) return;
      this.#waiting.delete(next);
      this.#holders.push(next.owner);
      next.begin();
    }
  }
}
