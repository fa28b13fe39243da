import { createClient } from '@customer-platform/client';
import type { ProcessPlatform } from '@customer-platform/testkit';
import type { HostileSetting, Outcome } from './children/hostile-customers.ts';
import { atMost, type Bench, exactly, type Figure, percentile, told } from './figures.ts';
import { type Child, connect, sandboxKey, startChild, startPlatform, startReceiver } from './harness.ts';
import { healthyCustomer, type Round, requestsPerSecond, steadyRound } from './healthy-customer.ts';
import { sum } from './process-usage.ts';

const warmingMs = 3_000;
const aloneMs = 15_000;
const hostileMs = 35_000;
const hangingAccounts = 6;

export const neighboursBench: Bench = {
  name: 'neighbours',
  summary: 'a healthy customer alone, then beside hostile customers',
  async measure() {
    const platform = await startPlatform();
    const [receiver, hanging] = [await startReceiver(), await startReceiver()];
    const bench = { sql: connect(platform), receiver, customer: await healthyCustomer(platform, receiver) };
    const setting = await hostileSetting(platform, hanging.url);
    await steadyRound(bench, warmingMs);
    const alone = await steadyRound(bench, aloneMs);
    const hostile = await startChild('hostile-customers.ts', JSON.stringify(setting));
    const beside = await steadyRound(bench, hostileMs);
    return figuresOf(alone, beside, await outcomesOf(hostile));
  },
};

async function hostileSetting(platform: ProcessPlatform, hangingUrl: string): Promise<HostileSetting> {
  const { gatewayUrl, databaseUrl } = platform;
  const [texts, growing, slow] = [await platform.account(), await platform.account(), await platform.account()];
  const hangingKeys: string[] = [];
  while (hangingKeys.length < hangingAccounts) hangingKeys.push((await platform.account()).key);
  const ofGrowing = createClient({ baseUrl: gatewayUrl, apiKey: growing.key });
  const { id: contact } = await ofGrowing.cdp.contacts.create({ body: { name: 'Grown' } });
  const ofSlow = createClient({ baseUrl: gatewayUrl, apiKey: slow.key });
  const body = { provider: 'http' as const, settings: { url: hangingUrl } };
  const hookPath = new URL((await ofSlow.messages.channels.put({ params: { channel: 'sms' }, body })).hook_url)
    .pathname;
  return {
    gatewayUrl,
    databaseUrl,
    hangingUrl,
    textsKey: texts.key,
    growing: { ...growing, contact },
    hangingKeys,
    slow: { key: slow.key, testKey: await sandboxKey(platform, slow.id), hookPath },
  };
}

/** Ends all hostilities. Throws if one failed or did nothing. */
async function outcomesOf(hostile: Child): Promise<Outcome[]> {
  const outcomes = (await (await fetch(hostile.url)).json()) as Outcome[];
  for (const { name, counts, error } of outcomes) {
    if (error !== undefined) throw new Error(`${name}: ${error}`);
    if (Object.keys(counts).length === 0) throw new Error(`${name}: no request was made`);
  }
  return outcomes;
}

function figuresOf(alone: Round, beside: Round, outcomes: Outcome[]): Figure[] {
  const { latenciesMs, statuses, refusals, delaysMs, sent, settledMs } = beside;
  const count = latenciesMs.length;
  const failed = sum(Object.entries(statuses).map(([status, times]) => (Number(status) >= 500 ? times : 0)));
  const what = `${requestsPerSecond} requests/s of a healthy customer`;
  if (refusals.length > 0) console.log([...new Set(refusals)].slice(0, 20).join('\n'));
  return [
    told(`${what}, alone: p50`, percentile(alone.latenciesMs, 0.5), 'ms'),
    told(`${what}, alone: p99`, percentile(alone.latenciesMs, 0.99), 'ms'),
    told('event to its webhook, alone: p99', percentile(alone.delaysMs, 0.99), 'ms'),
    told('processors busy meanwhile', 100 * alone.busy, '%'),
    told(`${what}, beside all that follows: p50`, percentile(latenciesMs, 0.5), 'ms'),
    atMost(`${what}, beside all that follows: p99`, percentile(latenciesMs, 0.99), 250, 'ms'),
    told('from the fifth second on, when everything hostile has begun: p99', percentile(settledMs, 0.99), 'ms'),
    told('processors busy meanwhile, of all on the machine', 100 * beside.busy, '%'),
    told('the slowest of them', Math.max(...latenciesMs), 'ms'),
    atMost(`of ${count} requests, refused with a 5xx`, failed, 0),
    exactly('of them, taken with a 2xx', `${count - refusals.length} of ${count}`, `${count} of ${count}`),
    told('event to its webhook: p99', percentile(delaysMs, 0.99), 'ms'),
    atMost('event to its webhook: the slowest', Math.max(...delaysMs), 3_000, 'ms'),
    exactly('webhooks that came', `${delaysMs.length} of ${sent}`, `${sent} of ${sent}`),
    ...outcomes.map(({ name, counts }) => told(name, countsText(counts))),
  ];
}

function countsText(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([outcome, count]) => `${count.toLocaleString('en-GB')} × ${outcome}`)
    .join(', ');
}
