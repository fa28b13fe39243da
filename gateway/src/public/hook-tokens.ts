import { hookAccountHeader, LRUCache, onceAtATime } from '@customer-platform/service-kit';
import type { Upstream } from '../forward/forward.ts';

const probeMs = 2_000;
const knownMs = 60_000;
/** Short, because a token may be created; long enough that repeated calls of a dead one cost the service nothing. */
const unknownMs = 1_000;
const maxTokens = 10_000;

/** A hook that exists. */
export interface KnownHook {
  /** The account that has it; its path, where the service does not say. */
  owner: string;
}

/** Cache of which hooks exist, probed with a HEAD: a hit is kept for a minute, a miss for a second. */
export class HookTokens {
  readonly #upstream: Upstream;
  /** Known hooks by path, with the expiry on the monotonic clock. */
  readonly #known = new LRUCache<string, KnownHook & { untilMs: number }>({ max: maxTokens });
  readonly #unknown = new LRUCache<string, true>({ max: maxTokens, ttl: unknownMs });

  constructor(upstream: Upstream) {
    this.#upstream = upstream;
  }

  /** Returns the hook at a path, null if there is none, undefined if `ask` must be called. Never waits. */
  peek(path: string): KnownHook | null | undefined {
    const known = this.#known.get(path);
    if (known && known.untilMs > performance.now()) return known;
    return this.#unknown.has(path) ? null : undefined;
  }

  /** Returns whether a hook existed at a path when it was last probed, however long ago. */
  wasKnown(path: string): boolean {
    return this.#known.has(path);
  }

  /**
   * Returns the hook at a path, null if there is none. Where the service does not respond within 2 s, what was known of it before counts for another
   * minute: anybody may keep the service busy with unknown tokens. Throws if nothing was.
   */
  readonly ask = onceAtATime(async (path: string, requestId: string) => {
    try {
      return await this.#ask(path, requestId);
    } catch (error) {
      const known = this.#known.get(path);
      if (!known) throw error;
      known.untilMs = performance.now() + knownMs;
      return known;
    }
  });

  /** Forgets a hook that the service did not find. */
  forget(path: string): void {
    this.#known.delete(path);
  }

  async #ask(path: string, requestId: string): Promise<KnownHook | null> {
    const { statusCode: status, headers } = await this.#upstream.probe(path, requestId, probeMs);
    if (status !== 200 && status !== 400 && status !== 404)
      throw new Error(`the service returned ${status} to a probe for a hook`);
    const found = status === 200 ? { owner: String(headers[hookAccountHeader] ?? path) } : null;
    if (found) this.#known.set(path, { ...found, untilMs: performance.now() + knownMs });
    else {
      this.#known.delete(path);
      this.#unknown.set(path, true);
    }
    return found;
  }
}
