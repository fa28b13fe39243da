/** The requests of an account in a minute, or of all accounts. */
export interface Counted {
  requests: number;
  s2xx: number;
  s4xx: number;
  /** Those of `s4xx` with status 404. */
  s404: number;
  s5xx: number;
  /** Those of `s4xx` that were beyond a rate limit. */
  limited: number;
  /** Number of requests by duration, one for each of `durationBounds` and one for what took longer. */
  durations: number[];
  /** Number of refusals by error code. */
  codes: Record<string, number>;
  /** By id of the key. */
  keys: Record<string, KeyUse>;
}

/** What a key did in a minute. `addresses` has the first five. */
export interface KeyUse {
  requests: number;
  limited: number;
  addresses: string[];
}

/** A request that was served; `code` is that of its refusal. */
export interface ServedRequest {
  key: { readonly keyId: string; readonly account: { readonly id: string }; readonly expiresAtMs: number } | undefined;
  address: string | undefined;
  status: number;
  code: string | undefined;
  ms: number;
}

/** Stands for all accounts together, requests without a valid key included. */
export const allAccounts = '00000000-0000-0000-0000-000000000000';

/** How long counts are kept, and shown. */
export const trafficKeptMs = 24 * 3_600_000;

/** Upper bounds in milliseconds. */
export const durationBounds = [
  1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000,
  30_000,
];

/** Accounts of a minute that are counted by themselves; what others do counts with all accounts only. */
const mostCounted = 40_000;
/** The busiest of them are saved. */
const mostSaved = 10_000;
const mostKeys = 50;
const mostAddresses = 5;
const minuteMs = 60_000;

/** A minute of an account, as it is by now. */
export interface CountedMinute extends Counted {
  accountId: string;
  minute: Date;
}

/** Counts requests by minute and account. It costs a request less than 2 µs, and the busiest minute about 20 MiB. */
export class TrafficCounter {
  readonly #clock: () => Date;
  #minute = 0;
  #counted = new Map<string, Counted>();
  /** Minutes that are over, and not saved. */
  #over: CountedMinute[] = [];
  #isUnsaved = false;

  constructor(clock: () => Date) {
    this.#clock = clock;
  }

  count(served: ServedRequest): void {
    this.#endMinute();
    this.#isUnsaved = true;
    const { key, code } = served;
    // A 429 for a key that has ended is its address's, not its account's.
    const isOfAddress = code === 'rate_limited' && key !== undefined && key.expiresAtMs <= this.#clock().getTime();
    const request = isOfAddress ? { ...served, code: 'invalid_key' } : served;
    add(this.#countOf(allAccounts)!, request);
    const counted = key && this.#countOf(key.account.id);
    if (!counted) return;
    add(counted, request);
    addUse(counted.keys, key.keyId, request);
  }

  /** Returns what is to be saved: this minute as it is by now, where it has changed, and the one before. They are returned again until `saved`. */
  unsaved(): CountedMinute[] {
    this.#endMinute();
    return [...this.#over, ...(this.#isUnsaved ? this.#busiest() : [])];
  }

  /** Says that what `unsaved` returned last has been saved. What was counted since is saved with what follows, or at the end of its minute. */
  saved(): void {
    this.#over = [];
    this.#isUnsaved = false;
  }

  #countOf(accountId: string): Counted | undefined {
    let counted = this.#counted.get(accountId);
    if (!counted && this.#counted.size <= mostCounted) {
      counted = nothing();
      this.#counted.set(accountId, counted);
    }
    return counted;
  }

  #endMinute(): void {
    const minute = Math.floor(this.#clock().getTime() / minuteMs);
    if (minute === this.#minute) return;
    // One minute is kept of those that cannot be saved: nobody needs all of them.
    this.#over = this.#busiest();
    this.#isUnsaved = false;
    this.#counted = new Map();
    this.#minute = minute;
  }

  #busiest(): CountedMinute[] {
    const minute = new Date(this.#minute * minuteMs);
    const minutes = [...this.#counted].map(([accountId, counted]) => ({ accountId, minute, ...counted }));
    if (minutes.length <= mostSaved) return minutes;
    return minutes.sort((one, other) => other.requests - one.requests).slice(0, mostSaved + 1);
  }
}

const nothing = (): Counted => ({
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
    if (Object.keys(keys).length >= mostKeys) return;
    use = { requests: 0, limited: 0, addresses: [] };
    keys[keyId] = use;
  }
  use.requests++;
  if (code === 'rate_limited') use.limited++;
  const { addresses } = use;
  if (address !== undefined && addresses.length < mostAddresses && !addresses.includes(address))
    addresses.push(address);
}

/** Returns the sum of counts: of several gateways, or minutes. */
export function sumOf(counts: readonly Counted[]): Counted {
  const sum = nothing();
  for (const counted of counts) {
    for (const name of ['requests', 's2xx', 's4xx', 's404', 's5xx', 'limited'] as const) sum[name] += counted[name];
    for (const [place, count] of counted.durations.entries()) sum.durations[place]! += count;
    for (const [code, count] of Object.entries(counted.codes)) sum.codes[code] = (sum.codes[code] ?? 0) + count;
    for (const [keyId, { requests, limited, addresses }] of Object.entries(counted.keys)) {
      sum.keys[keyId] ??= { requests: 0, limited: 0, addresses: [] };
      const use = sum.keys[keyId];
      use.requests += requests;
      use.limited += limited;
      use.addresses = [...new Set([...use.addresses, ...addresses])].slice(0, mostAddresses);
    }
  }
  return sum;
}

/** Returns the duration in ms that 99 of 100 requests did not exceed, to the bound above; null without requests. */
export function p99Ms({ requests, durations }: Pick<Counted, 'requests' | 'durations'>): number | null {
  if (requests === 0) return null;
  let left = Math.ceil(requests * 0.99);
  const place = durations.findIndex((count) => {
    left -= count;
    return left <= 0;
  });
  return durationBounds[place] ?? durationBounds.at(-1)!;
}
