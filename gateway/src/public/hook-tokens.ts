import { coalesceByKey, hookAccountHeader, LRUCache } from '@customer-platform/service-kit';
import type { Upstream } from '../forward/forward.ts';

const probeMs = 2_000;
const knownMs = 60_000;
/** Short, since a token may be created at any time. Long enough that repeated requests with an unknown token do not reach the service. */
const unknownMs = 1_000;
const maxTokens = 10_000;

/** A webhook token that exists. */
export interface KnownHook {
  /** The account of the token, or the path if the service does not name one. */
  owner: string;
}

/** Cache of existing tokens, which a HEAD request checks. Keeps an existing token for a minute and an unknown one for a second. */
export class HookTokens {
  readonly #upstream: Upstream;
  /** Known tokens by path, with their expiry on the monotonic clock. */
  readonly #known = new LRUCache<string, KnownHook & { untilMs: number }>({ max: maxTokens });
  readonly #unknown = new LRUCache<string, true>({ max: maxTokens, ttl: unknownMs });

  constructor(upstream: Upstream) {
    this.#upstream = upstream;
  }

  /** Returns the token's entry for a path, null if it is unknown, or undefined if `ask` must be called. Never waits. */
  peek(path: string): KnownHook | null | undefined {
    const known = this.#known.get(path);
    if (known && known.untilMs > performance.now()) return known;
    return this.#unknown.has(path) ? null : undefined;
  }

  /** Returns whether a token existed at a path when it was last checked, however long ago. */
  wasKnown(path: string): boolean {
    return this.#known.has(path);
  }

  /**
   * Returns the token's entry for a path, or null if it is unknown. If the service does not respond within 2 s, an earlier entry stays valid for
   * another minute, because requests with unknown tokens may keep the service busy. Throws without such an entry.
   */
  readonly ask = coalesceByKey(async (path: string, requestId: string) => {
    try {
      return await this.#ask(path, requestId);
    } catch (error) {
      const known = this.#known.get(path);
      if (!known) throw error;
      known.untilMs = performance.now() + knownMs;
      return known;
    }
  });

  /** Drops a token that the service did not find. */
  forget(path: string): void {
    this.#known.delete(path);
  }

  async #ask(path: string, requestId: string): Promise<KnownHook | null> {
    const { statusCode: status, headers } = await this.#upstream.probe(path, requestId, probeMs);
    if (status !== 200 && status !== 400 && status !== 404)
      throw new Error(`the service returned ${status} to a probe of a webhook token`);
    const found = status === 200 ? { owner: String(headers[hookAccountHeader] ?? path) } : null;
    if (found) this.#known.set(path, { ...found, untilMs: performance.now() + knownMs });
    else {
      this.#known.delete(path);
      this.#unknown.set(path, true);
    }
    return found;
  }
}
