import { setTimeout as sleep } from 'node:timers/promises';

/** Account and its live key. */
export interface Account {
  id: string;
  key: string;
}

/** Environment of hostile customers: everything is on loopback. */
export interface HostileSetting {
  gatewayUrl: string;
  databaseUrl: string;
  /** URL that accepts requests and never responds. */
  hangingUrl: string;
  texts: Account;
  growing: Account & { contact: string };
  /** Accounts with the maximum number of endpoints each. */
  hanging: Account[];
  slow: Account & { testKey: string; hookPath: string };
}

/** Counts outcomes by name: statuses or actions. */
export class Tally {
  readonly counts: Record<string, number> = {};

  add(outcome: string | number, count = 1): void {
    this.counts[outcome] = (this.counts[outcome] ?? 0) + count;
  }
}

/** Kind of hostility: runs until the signal, then cleans up. */
export interface Hostility {
  name: string;
  run(setting: HostileSetting, signal: AbortSignal, tally: Tally): Promise<void>;
}

/** Resolves after `ms`, or as soon as the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

/**
 * Calls `work` at a steady rate until the signal, with at most `mostUnderWay` concurrent calls, then waits for those. Throws what
 * a call throws, unless the signal is aborted.
 */
export async function atPace(
  perSecond: number,
  signal: AbortSignal,
  work: (index: number) => Promise<void>,
  mostUnderWay = 10,
): Promise<void> {
  const under = new Set<Promise<void>>();
  let failure: unknown;
  for (let index = 0; !signal.aborted && failure === undefined; index++) {
    if (under.size < mostUnderWay) {
      const call: Promise<void> = work(index)
        .catch((error: unknown) => {
          if (!signal.aborted) failure ??= error;
        })
        .finally(() => under.delete(call));
      under.add(call);
    }
    await pause(1_000 / perSecond, signal);
  }
  await Promise.all(under);
  if (failure !== undefined) throw failure;
}

/** Sends one request and returns its status and the parsed body, if any; throws when the signal is aborted first or after 20 s. */
export async function send(
  { gatewayUrl }: Pick<HostileSetting, 'gatewayUrl'>,
  { key, method, path, body }: { key: string; method: string; path: string; body?: string },
  signal: AbortSignal,
): Promise<{ status: number; body: unknown }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(`${gatewayUrl}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(20_000)]),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}
