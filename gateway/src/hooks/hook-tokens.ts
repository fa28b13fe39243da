import { LRUCache } from '@customer-platform/service-kit';
import type { Upstream } from '../upstream.ts';

const probeMs = 2_000;
const knownMs = 60_000;
/** Short, because a token may be created; long enough that repeated calls of a dead one cost the service nothing. */
const unknownMs = 1_000;
const maxTokens = 10_000;

/** Cache of which hooks exist, probed with a HEAD: a hit is kept for a minute, a miss for a second. */
export class HookTokens {
  readonly #upstream: Upstream;
  /** Expiry of known hooks by path, on the monotonic clock. */
  readonly #known = new LRUCache<string, number>({ max: maxTokens });
  readonly #unknown = new LRUCache<string, true>({ max: maxTokens, ttl: unknownMs });
  readonly #asking = new Map<string, Promise<boolean>>();

  constructor(upstream: Upstream) {
    this.#upstream = upstream;
  }

  /** Returns whether a hook exists at a path, undefined if `ask` must be called. Never waits. */
  peek(path: string): boolean | undefined {
    if ((this.#known.get(path) ?? 0) > performance.now()) return true;
    return this.#unknown.has(path) ? false : undefined;
  }

  /** Returns whether a hook existed at a path when it was last probed, however long ago. */
  wasKnown(path: string): boolean {
    return this.#known.has(path);
  }

  /** Asks the service whether a hook exists at a path. Throws if it does not respond within 2 s. */
  ask(path: string, requestId: string): Promise<boolean> {
    const under = this.#asking.get(path);
    if (under !== undefined) return under;
    const asking = this.#ask(path, requestId).finally(() => this.#asking.delete(path));
    this.#asking.set(path, asking);
    return asking;
  }

  /** Forgets a hook that the service did not find. */
  forget(path: string): void {
    this.#known.delete(path);
  }

  async #ask(path: string, requestId: string): Promise<boolean> {
    const status = await this.#upstream.probe(path, requestId, probeMs);
    if (status >= 500) throw new Error(`the service returned ${status} to a probe for a hook`);
    if (status !== 404) {
      this.#known.set(path, performance.now() + knownMs);
      return true;
    }
    this.#known.delete(path);
    this.#unknown.set(path, true);
    return false;
  }
}
