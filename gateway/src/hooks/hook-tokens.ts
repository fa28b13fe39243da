import { LRUCache } from '@customer-platform/service-kit';
import type { Upstream } from '../upstream.ts';

const probeMs = 2_000;
const knownMs = 60_000;
/** Short, for a token may come to exist; long enough that who goes on calling a dead one costs the service nothing. */
const unknownMs = 1_000;
const maxTokens = 10_000;

/** Which hooks exist, as the service says: asked with a HEAD, remembered for a minute, for a second where there is none. */
export class HookTokens {
  readonly #upstream: Upstream;
  /** By path, until when (monotonic) it is known to exist. */
  readonly #known = new LRUCache<string, number>({ max: maxTokens });
  readonly #unknown = new LRUCache<string, true>({ max: maxTokens, ttl: unknownMs });
  readonly #asking = new Map<string, Promise<boolean>>();

  constructor(upstream: Upstream) {
    this.#upstream = upstream;
  }

  /** Whether there is a hook at a path; undefined: ask. Never waits. */
  peek(path: string): boolean | undefined {
    if ((this.#known.get(path) ?? 0) > performance.now()) return true;
    return this.#unknown.has(path) ? false : undefined;
  }

  /** Whether there was a hook at a path when the service was asked last, however long ago. */
  wasKnown(path: string): boolean {
    return this.#known.has(path);
  }

  /** Asks the service whether there is a hook at a path. Throws where it does not say within 2 s. */
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
    if (status >= 500) throw new Error(`the service answered ${status} when asked for a hook`);
    if (status !== 404) {
      this.#known.set(path, performance.now() + knownMs);
      return true;
    }
    this.#known.delete(path);
    this.#unknown.set(path, true);
    return false;
  }
}
