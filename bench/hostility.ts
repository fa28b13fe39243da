import { setTimeout as sleep } from 'node:timers/promises';

/** An account and its live key. */
export interface Account {
  id: string;
  key: string;
}

/** Setting of hostile customers: everything is on the loopback address. */
export interface HostileSetting {
  gatewayUrl: string;
  databaseUrl: string;
  /** The bus as the service of customer data enters it. */
  busUrl: string;
  /** Takes requests and responds to none. */
  hangingUrl: string;
  texts: Account;
  growing: Account & { contact: string };
  /** Each has as many endpoints as an account may have. */
  hanging: Account[];
  slow: Account & { testKey: string; hookPath: string };
}

/** Counts outcomes by name: statuses, or what was done. */
export class Tally {
  readonly counts: Record<string, number> = {};

  add(outcome: string | number, count = 1): void {
    this.counts[outcome] = (this.counts[outcome] ?? 0) + count;
  }
}

/** One kind of hostility: goes on until the signal, then ends what it began. */
export interface Hostility {
  name: string;
  run(setting: HostileSetting, signal: AbortSignal, tally: Tally): Promise<void>;
}

/** Resolves after `ms`, or at once when the signal comes. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

/**
 * Calls `work` at an even pace until the signal, with at most `mostUnderWay` calls at a time, then waits for those. Throws what
 * a call throws, unless the signal came.
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

/** Sends one request and returns its status and the parsed body, if any; throws when the signal comes first or after 20 s. */
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
