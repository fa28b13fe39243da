import { createClient } from '@customer-platform/client';
import { type ProcessPlatform, rawRequest } from '@customer-platform/testkit';
import postgres from 'postgres';
import { type Child, startChild } from './child-process.ts';
import { atMost, type Bench, exactly, type Figure, percentile, told } from './figures.ts';
import { healthyCustomer, type Round, requestsPerSecond, steadyRound } from './healthy-customer.ts';
import type { HostileSetting } from './hostility.ts';
import { startMessageProvider } from './message-provider.ts';
import { startPlatform } from './platform.ts';
import { silenceConnections } from './silent-connections.ts';

const warmingMs = 3_000;
const aloneMs = 15_000;
const hostileMs = 35_000;
/** Milliseconds of hostility after which the connections fall silent. */
const silentAfterMs = 10_000;
const hangingAccounts = 6;
const silentService = 'catalogue';

/** Outcome of each hostility, reported by the hostile process. */
interface Outcome {
  name: string;
  counts: Record<string, number>;
  error?: string;
}

export const neighboursBench: Bench = {
  name: 'neighbours',
  summary: 'a healthy customer alone, then beside hostile customers and silent connections',
  async measure() {
    const stops: (() => Promise<unknown>)[] = [];
    const started = <T extends { stop(): Promise<void> }>(one: T) => {
      stops.push(() => one.stop());
      return one;
    };
    try {
      const platform = started(await startPlatform());
      const receiver = started(await startChild('receiver.ts'));
      const hanging = started(await startChild('receiver.ts'));
      const provider = started(await startMessageProvider());
      const hostile = started(await startChild('hostile-customers.ts'));
      const sql = postgres(platform.databaseUrl, { max: 2, onnotice: () => undefined });
      stops.push(() => sql.end());
      const customer = await healthyCustomer(platform, provider, receiver);
      const setting = await hostileSetting(platform, hanging.url);
      const round = (forMs: number) => steadyRound({ platform, sql, receiver }, customer, forMs);
      await round(warmingMs);
      const alone = await round(aloneMs);
      const beside = await hostileRound(hostile, setting, sql, () => round(hostileMs));
      return figuresOf(alone, beside);
    } finally {
      for (const stop of stops.reverse()) await stop();
    }
  },
};

async function hostileSetting(platform: ProcessPlatform, hangingUrl: string): Promise<HostileSetting> {
  const { gatewayUrl, databaseUrl } = platform;
  const [texts, growing, slow] = [await platform.account(), await platform.account(), await platform.account()];
  const hanging: HostileSetting['hanging'] = [];
  for (let index = 0; index < hangingAccounts; index++) hanging.push(await platform.account());
  const ofGrowing = createClient({ baseUrl: gatewayUrl, apiKey: growing.key });
  const { id: contact } = await ofGrowing.createContact({ body: { name: 'Grown' } });
  const ofSlow = createClient({ baseUrl: gatewayUrl, apiKey: slow.key });
  const body = { provider: 'http' as const, settings: { url: hangingUrl } };
  const { hook_url } = await ofSlow.putChannel({ params: { channel: 'sms' }, body });
  const testKey = await testKeyOf(platform, slow.id);
  return {
    gatewayUrl,
    databaseUrl,
    hangingUrl,
    texts,
    growing: { ...growing, contact },
    hanging,
    slow: { ...slow, testKey, hookPath: new URL(hook_url).pathname },
  };
}

async function testKeyOf({ adminUrl, adminToken }: ProcessPlatform, account: string): Promise<string> {
  const body = { name: 'sandbox', mode: 'test', scopes: ['*'] };
  const made = await rawRequest(adminUrl, 'POST', `/admin/accounts/${account}/keys`, { key: adminToken, body });
  if (made.status !== 201) throw new Error(`making the sandbox's key got ${made.status}: ${made.text}`);
  return (made.body as { key: string }).key;
}

/** Runs all hostilities during a round of the healthy customer. Throws if a hostility failed or did nothing. */
async function hostileRound(hostile: Child, setting: HostileSetting, sql: postgres.Sql, measure: () => Promise<Round>) {
  await fetch(`${hostile.url}/start`, { method: 'POST', body: JSON.stringify(setting) });
  let silent: Awaited<ReturnType<typeof silenceConnections>> | undefined;
  let silentAtMs = 0;
  const began = performance.now();
  const timer = new Promise<void>((resolve, reject) => {
    setTimeout(() => {
      silenceConnections(sql, silentService).then((connections) => {
        silent = connections;
        silentAtMs = performance.now() - began;
        resolve();
      }, reject);
    }, silentAfterMs);
  });
  try {
    const [round] = await Promise.all([measure(), timer]);
    const outcomes = (await (await fetch(`${hostile.url}/stop`)).json()) as Outcome[];
    for (const { name, counts, error } of outcomes) {
      if (error !== undefined) throw new Error(`${name}: ${error}`);
      if (Object.keys(counts).length === 0) throw new Error(`${name}: nothing was done`);
    }
    if (!silent?.count) throw new Error(`no connection of ${silentService} was there to fall silent`);
    return { round, outcomes, silent: { count: silent.count, atMs: silentAtMs } };
  } finally {
    silent?.release();
  }
}

function figuresOf(alone: Round, beside: Awaited<ReturnType<typeof hostileRound>>): Figure[] {
  const { round, outcomes, silent } = beside;
  const responses = round.latenciesMs.length;
  const failed = Object.entries(round.statuses).reduce(
    (sum, [status, count]) => sum + (Number(status) >= 500 ? count : 0),
    0,
  );
  const what = `${requestsPerSecond} requests/s of a healthy customer`;
  const p = (values: number[], share: number) => percentile(values, share);
  if (round.refusals.length > 0) console.log([...new Set(round.refusals)].slice(0, 20).join('\n'));
  return [
    told(`${what}, alone: p50`, p(alone.latenciesMs, 0.5), 'ms'),
    told(`${what}, alone: p99`, p(alone.latenciesMs, 0.99), 'ms'),
    told('event to its webhook, alone: p99', p(alone.delaysMs, 0.99), 'ms'),
    told('processors busy meanwhile', 100 * alone.busy, '%'),
    told(`${what}, beside all that follows: p50`, p(round.latenciesMs, 0.5), 'ms'),
    atMost(`${what}, beside all that follows: p99`, p(round.latenciesMs, 0.99), 250, 'ms'),
    told('from the fifth second on, when everything hostile has begun: p99', p(round.settledMs, 0.99), 'ms'),
    told('processors busy meanwhile, of all on the machine', 100 * round.busy, '%'),
    told('the slowest of them', Math.max(...round.latenciesMs), 'ms'),
    atMost(`of ${responses} requests, refused with a 5xx`, failed, 0),
    exactly(
      'of them, taken with a 2xx',
      `${responses - round.refusals.length} of ${responses}`,
      `${responses} of ${responses}`,
    ),
    told('event to its webhook: p99', p(round.delaysMs, 0.99), 'ms'),
    atMost('event to its webhook: the slowest', Math.max(...round.delaysMs), 3_000, 'ms'),
    exactly(
      'webhooks that came',
      `${round.delaysMs.length} of ${round.expected}`,
      `${round.expected} of ${round.expected}`,
    ),
    ...silentFigures(round, silent),
    ...outcomes.map(({ name, counts }) => told(name, countsText(counts))),
  ];
}

/** Returns the figures of silent connections: requests on them wait for their deadline, which bounds the outage. */
function silentFigures({ catalogue }: Round, { count, atMs }: { count: number; atMs: number }): Figure[] {
  const during = catalogue.filter(({ at }) => at >= atMs);
  const refused = during.filter(({ status }) => status >= 500);
  const lastMs = Math.max(atMs, ...refused.map(({ at }) => at)) - atMs;
  return [
    told(`connections of ${silentService} that fell silent, all it had`, String(count)),
    told('its requests that were refused with 503 for it', `${refused.length} of ${catalogue.length}`),
    atMost('from the silence to the last 503', lastMs / 1_000, 7, 's'),
    atMost('the slowest of its requests', Math.max(...catalogue.map(({ ms }) => ms)) / 1_000, 7, 's'),
  ];
}

function countsText(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([outcome, count]) => `${count.toLocaleString('en-GB')} × ${outcome}`)
    .join(', ');
}
