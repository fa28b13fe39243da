/** The requests of an account in a minute, or of all accounts. */
export interface Counted {
  requests: number;
  s2xx: number;
  s4xx: number;
  /** The part of `s4xx` with status 404. */
  s404: number;
  s5xx: number;
  /** The part of `s4xx` over a rate limit. */
  limited: number;
  /** Number of requests by duration: one entry for each of `durationBounds`, and one for longer durations. */
  durations: number[];
  /** Number of refusals by error code. */
  codes: Record<string, number>;
  /** Use of keys, by key id. */
  keys: Record<string, KeyUse>;
}

/** The use of a key in a minute. `addresses` has the first five. */
export interface KeyUse {
  requests: number;
  limited: number;
  addresses: string[];
}

/** A served request. `code` is its error code, if it was refused. */
export interface ServedRequest {
  key: { readonly keyId: string; readonly account: { readonly id: string }; readonly expiresAtMs: number } | undefined;
  address: string | undefined;
  status: number;
  code: string | undefined;
  ms: number;
}

/** Stands for all accounts together, including requests without a valid key. */
export const allAccounts = '00000000-0000-0000-0000-000000000000';

/** Time for which counts are kept and shown. */
export const trafficKeptMs = 24 * 3_600_000;

/** Upper bounds in milliseconds, in ascending order. */
export const durationBounds = [
  1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000,
  30_000,
];

/** Maximum accounts counted separately per minute. Requests of further accounts count only for all accounts. */
const maxCounted = 40_000;
/** Maximum accounts saved per minute, which are the busiest. */
const maxSaved = 10_000;
const maxKeys = 50;
const maxAddresses = 5;
const minuteMs = 60_000;

/** A minute of an account, counted so far. */
export interface CountedMinute extends Counted {
  accountId: string;
  minute: Date;
}

/** Counts requests by minute and account. Costs less than 2 µs per request, and about 20 MiB in the busiest minute. */
export class TrafficCounter {
  readonly #clock: () => Date;
  #minute = 0;
  #counted = new Map<string, Counted>();
  /** Minutes that have ended but are not saved. */
  #over: CountedMinute[] = [];
  #isUnsaved = false;

  constructor(clock: () => Date) {
    this.#clock = clock;
  }

  count(served: ServedRequest): void {
    this.#endMinute();
    this.#isUnsaved = true;
    const { key, code } = served;
    // A 429 for an expired key comes from the limit of its address, not from its account's rate.
    const isOfAddress = code === 'rate_limited' && key !== undefined && key.expiresAtMs <= this.#clock().getTime();
    const request = isOfAddress ? { ...served, code: 'invalid_key' } : served;
    add(this.#countOf(allAccounts)!, request);
    const counted = key && this.#countOf(key.account.id);
    if (!counted) return;
    add(counted, request);
    addUse(counted.keys, key.keyId, request);
  }

  /** Returns unsaved counts: the current minute if it changed, and the previous one. Returns them again until `saved` is called. */
  unsaved(): CountedMinute[] {
    this.#endMinute();
    return [...this.#over, ...(this.#isUnsaved ? this.#busiest() : [])];
  }

  /** Marks the counts that `unsaved` last returned as saved. Later counts are saved with the next ones, or when their minute ends. */
  saved(): void {
    this.#over = [];
    this.#isUnsaved = false;
  }

  #countOf(accountId: string): Counted | undefined {
    let counted = this.#counted.get(accountId);
    if (!counted && this.#counted.size <= maxCounted) {
      counted = emptyCounts();
      this.#counted.set(accountId, counted);
    }
    return counted;
  }

  #endMinute(): void {
    const minute = Math.floor(this.#clock().getTime() / minuteMs);
    if (minute === this.#minute) return;
    // If minutes cannot be saved, only the last one is kept, which bounds the memory.
    this.#over = this.#busiest();
    this.#isUnsaved = false;
    this.#counted = new Map();
    this.#minute = minute;
  }

  #busiest(): CountedMinute[] {
    const minute = new Date(this.#minute * minuteMs);
    const minutes = [...this.#counted].map(([accountId, counted]) => ({ accountId, minute, ...counted }));
    if (minutes.length <= maxSaved) return minutes;
    return minutes.sort((one, other) => other.requests - one.requests).slice(0, maxSaved + 1);
  }
}

const emptyCounts = (): Counted => ({
  requests: 0,
  s2xx: 0,
  s4xx: 0,
  s404: 0,
  s5xx: 0,
  limited: 0,
  durations: new Array<number>(durationBounds.length + 1).fill(0),
  codes: {},
  keys: {},
});

function add(counted: Counted, { status, code, ms }: ServedRequest): void {
  counted.requests++;
  if (status < 400) counted.s2xx++;
  else if (status >= 500) counted.s5xx++;
  else counted.s4xx++;
  if (status === 404) counted.s404++;
  if (code === 'rate_limited') counted.limited++;
  let place = 0;
  while (place < durationBounds.length && ms > durationBounds[place]!) place++;
  counted.durations[place]!++;
  if (code !== undefined) counted.codes[code] = (counted.codes[code] ?? 0) + 1;
}

function addUse(keys: Counted['keys'], keyId: string, { code, address }: ServedRequest): void {
  let use = keys[keyId];
  if (!use) {
    if (Object.keys(keys).length >= maxKeys) return;
    use = { requests: 0, limited: 0, addresses: [] };
    keys[keyId] = use;
  }
  use.requests++;
  if (code === 'rate_limited') use.limited++;
  const { addresses } = use;
  if (address !== undefined && addresses.length < maxAddresses && !addresses.includes(address)) addresses.push(address);
}

/** Returns the sum of counts, of several gateways or minutes. */
export function sumOf(counts: readonly Counted[]): Counted {
  const sum = emptyCounts();
  for (const counted of counts) {
    for (const name of ['requests', 's2xx', 's4xx', 's404', 's5xx', 'limited'] as const) sum[name] += counted[name];
    for (const [place, count] of counted.durations.entries()) sum.durations[place]! += count;
    for (const [code, count] of Object.entries(counted.codes)) sum.codes[code] = (sum.codes[code] ?? 0) + count;
    for (const [keyId, { requests, limited, addresses }] of Object.entries(counted.keys)) {
      sum.keys[keyId] ??= { requests: 0, limited: 0, addresses: [] };
      const use = sum.keys[keyId];
      use.requests += requests;
      use.limited += limited;
      use.addresses = [...new Set([...use.addresses, ...addresses])].slice(0, maxAddresses);
    }
  }
  return sum;
}

/** Returns the bound in ms that 99 of 100 requests did not exceed, or null without requests. */
export function p99Ms({ requests, durations }: Pick<Counted, 'requests' | 'durations'>): number | null {
  if (requests === 0) return null;
  let left = Math.ceil(requests * 0.99);
  const place = durations.findIndex((count) => {
    left -= count;
    return left <= 0;
  });
  return durationBounds[place] ?? durationBounds.at(-1)!;
}
