import { createClient } from '@customer-platform/client';
import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import postgres from 'postgres';
import { manyReminders } from './due-reminders.ts';
import { atLeast, atMost, type Bench, exactly, type Figure, median, percentile, told } from './figures.ts';
import { closedLoop, openLoop, requestBytes } from './load.ts';
import { inboundRequest, type MessageProvider, startMessageProvider } from './message-provider.ts';
import { startPlatform } from './platform.ts';
import { cpuSeconds, cpuSecondsWithChildren, parentOf, untilIdle } from './process-usage.ts';

const accounts = 10;
const rounds = 3;
const connections = 32;
const acceptMs = 8_000;
const sendsPerSecond = 200;
const steadyMs = 10_000;
const warmingMs = 2_000;
const phone = '+4930901820';
const serviceNames = ['gateway', 'messaging', 'webhooks'];

/** Account with two channels, each at its own path of the provider, and its requests. */
interface Sender {
  id: string;
  sms: Buffer;
  whatsapp: Buffer;
  /** Returns a request with an inbound SMS of its customer, signed like the channel's provider. */
  inbound(): Buffer;
}

interface Setting {
  platform: ProcessPlatform;
  provider: MessageProvider;
  sql: postgres.Sql;
  senders: Sender[];
}

export const messagesBench: Bench = {
  name: 'messages',
  summary: 'messages taken and sent through a provider on the same machine, and reminders that are due at once',
  async measure() {
    const provider = await startMessageProvider();
    let platform: ProcessPlatform | undefined;
    let sql: postgres.Sql | undefined;
    try {
      platform = await startPlatform();
      sql = postgres(platform.databaseUrl, { max: 2, onnotice: () => undefined });
      const senders: Sender[] = [];
      for (let index = 0; index < accounts; index++) senders.push(await sender(platform, provider, index));
      const setting = { platform, provider, sql, senders };
      return [
        ...(await accepting(setting)),
        ...(await latency(setting)),
        ...(await hookLatencies(setting)),
        ...(await manyReminders(platform, provider, sql)),
      ];
    } finally {
      await sql?.end();
      await platform?.stop();
      await provider.stop();
    }
  },
};

async function sender(platform: ProcessPlatform, provider: MessageProvider, index: number): Promise<Sender> {
  const { id, key } = await platform.account();
  const client = createClient({ baseUrl: platform.gatewayUrl, apiKey: key });
  const sendOn = async (channel: 'sms' | 'whatsapp') => {
    const settings = { url: `${provider.url}/${channel}/${index}` };
    const channelSet = await client.putChannel({ params: { channel }, body: { provider: 'http', settings } });
    const body = JSON.stringify({ to: phone, channels: [{ channel, body: 'Your parcel is on its way.' }] });
    const send = requestBytes(platform.gatewayUrl, 'POST /v1/messages', { authorization: `Bearer ${key}` }, body);
    return { send, hookUrl: channelSet.hook_url, secret: String(channelSet.settings.secret) };
  };
  const [sms, whatsapp] = [await sendOn('sms'), await sendOn('whatsapp')];
  return { id, sms: sms.send, whatsapp: whatsapp.send, inbound: () => inboundRequest(platform.gatewayUrl, sms, phone) };
}

/** Measures inbound messages at a steady rate, until each is accepted and has become an event. */
async function hookLatencies({ platform, sql, senders }: Setting): Promise<Figure[]> {
  const latenciesMs: number[] = [];
  let made = 0;
  const load = { url: platform.gatewayUrl, connections, next: () => senders[made++ % accounts]!.inbound() };
  for (const [round, forMs] of [warmingMs, steadyMs].entries()) {
    const result = await openLoop(load, sendsPerSecond, forMs);
    if (result.statuses[200] !== result.responses) {
      throw new Error(`not all that was written was taken: ${JSON.stringify(result.statuses)}`);
    }
    if (round > 0) latenciesMs.push(...result.latenciesMs);
  }
  const waiting = () => sql`select 1 from messaging.inbound_messages where due_at is not null limit 1`;
  await waitFor('all that was written to be an event', async () => (await waiting()).length === 0, 30_000);
  const what = `${sendsPerSecond} inbound messages/s, to the response of the hook`;
  return [
    told(`${what}: p50`, percentile(latenciesMs, 0.5), 'ms'),
    atMost(`${what}: p99`, percentile(latenciesMs, 0.99), 100, 'ms'),
  ];
}

/** Measures the maximum send rate; a round's CPU time counts until all messages are sent and their events published. */
async function accepting({ platform, provider, sql, senders }: Setting): Promise<Figure[]> {
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const server = parentOf(row!.pid);
  const pids = serviceNames.map((name) => platform.pidOf(name)!);
  const used = () => [...pids.map(cpuSeconds), cpuSecondsWithChildren(server)];
  const [accepted, sent, micros]: [number[], number[], number[][]] = [[], [], []];
  let made = 0;
  const next = () => senders[made++ % accounts]!.sms;
  for (let round = 0; round <= rounds; round++) {
    const before = used();
    const began = performance.now();
    const load = { url: platform.gatewayUrl, connections, next };
    const { responses, seconds, statuses } = await closedLoop(load, round === 0 ? warmingMs : acceptMs);
    if (statuses[202] !== responses) throw new Error(`not all messages were taken: ${JSON.stringify(statuses)}`);
    await waitFor('all messages to be sent', async () => (await underWay(sql)) === 0, 40_000);
    const sentSeconds = (performance.now() - began) / 1_000;
    await waitFor(
      'the outbox to be empty',
      async () => (await sql`select 1 from messaging.outbox limit 1`).length === 0,
    );
    const costs = used().map((seconds, index) => ((seconds - before[index]!) / responses) * 1e6);
    await untilIdle(pids, 3_000);
    const arrived = new Set((await provider.arrivals()).map(({ message }) => message)).size;
    if (arrived !== responses) throw new Error(`${responses} messages were taken and ${arrived} of them sent`);
    if (round === 0) continue; // warms up
    accepted.push(responses / seconds);
    sent.push(responses / sentSeconds);
    micros.push(costs);
  }
  const cost = (index: number) => median(micros.map((costs) => costs[index]!));
  return [
    atLeast(`sends accepted a second through the gateway (${connections} connections)`, median(accepted), 1_000, '/s'),
    told('sent a second, from the first request to the last result written', median(sent), '/s'),
    ...serviceNames.map((name, index) => told(`CPU of a send: ${name}`, cost(index), 'µs')),
    told('CPU of a send: PostgreSQL', cost(serviceNames.length), 'µs'),
  ];
}

/** Returns the number of messages that wait for their provider, its response, or the write of its result. */
async function underWay(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from messaging.attempts where due_at is not null or running_since is not null`;
  return row!.count;
}

/** Disturbances of a round: nothing, a hanging provider of one account, or a hanging second channel of every account. */
const disturbances = {
  calm: undefined,
  account: { prefix: `/sms/${accounts - 1}`, channel: 'sms' },
  channel: { prefix: '/whatsapp', channel: 'whatsapp' },
} as const;
type Disturbance = keyof typeof disturbances;

/** Measures sends at a steady rate, alternately undisturbed and with every tenth to a provider that hangs. */
async function latency(setting: Setting): Promise<Figure[]> {
  const taken = { p50: [] as number[], p99: [] as number[] };
  const measured: Record<Disturbance, typeof taken> = {
    calm: taken,
    account: structuredClone(taken),
    channel: structuredClone(taken),
  };
  let sent = 0;
  let arrived = 0;
  for (let round = 0; round <= rounds; round++) {
    for (const disturbance of Object.keys(disturbances) as Disturbance[]) {
      const result = await steadyRound(setting, disturbance, round === 0 ? warmingMs : steadyMs);
      if (round === 0) break; // warms up
      measured[disturbance].p50.push(percentile(result.delaysMs, 0.5));
      measured[disturbance].p99.push(percentile(result.delaysMs, 0.99));
      sent += result.sent;
      arrived += result.delaysMs.length;
    }
  }
  const { calm, account, channel } = measured;
  const what = `${sendsPerSecond} sends/s, accepted to provider called`;
  const besides = (where: string, { p50, p99 }: typeof taken) => [
    told(`with 10 % of it ${where}, the others: p50`, median(p50), 'ms'),
    atMost(`with 10 % of it ${where}, the others: p99 ÷ undisturbed`, median(p99) / median(calm.p99), 2),
    told(`with 10 % of it ${where}, the others: p99`, median(p99), 'ms'),
  ];
  return [
    told(`${what}: p50`, median(calm.p50), 'ms'),
    atMost(`${what}: p99`, median(calm.p99), 250, 'ms'),
    ...besides('to an account whose provider hangs', account),
    ...besides('on another channel of the same accounts, which hangs', channel),
    exactly('messages on channels that respond that were sent', `${arrived} of ${sent}`, `${sent} of ${sent}`),
  ];
}

/** Returns the delays of the messages on channels that respond, from when their requests arrived. */
async function steadyRound({ platform, provider, sql, senders }: Setting, disturbance: Disturbance, forMs: number) {
  const hangs = disturbances[disturbance];
  if (hangs) await provider.hang(hangs.prefix);
  await provider.arrivals();
  const began = new Date();
  let made = 0;
  const next = () => {
    const [turn, place] = [Math.floor(made / accounts), made++ % accounts];
    const isOther = disturbance === 'channel' && place === accounts - 1;
    return isOther ? senders[turn % place]!.whatsapp : senders[place]!.sms;
  };
  const load = { url: platform.gatewayUrl, connections, next };
  const { responses, statuses } = await openLoop(load, sendsPerSecond, forMs);
  if (statuses[202] !== responses) throw new Error(`not all messages were taken: ${JSON.stringify(statuses)}`);
  const rows = await sql<{ id: string; account_id: string; created_at: Date; channel: string }[]>`
    select id, account_id, created_at, steps -> 0 ->> 'channel' as channel from messaging.messages where created_at >= ${began}`;
  if (rows.length !== responses) throw new Error(`${responses} messages were taken, and ${rows.length} are stored`);
  const hanging = senders.at(-1)!.id;
  const isMeasured = (row: { account_id: string; channel: string }) =>
    row.channel === 'sms' && !(disturbance === 'account' && row.account_id === hanging);
  const acceptedAt = new Map(rows.filter(isMeasured).map(({ id, created_at }) => [id, created_at.getTime()]));
  const delaysMs: number[] = [];
  let hung = 0;
  const allSent = async () => {
    for (const { path, message, at } of await provider.arrivals()) {
      if (hangs && path.startsWith(hangs.prefix)) hung++;
      const since = acceptedAt.get(message);
      if (since !== undefined) delaysMs.push(at - since);
      acceptedAt.delete(message); // counts once
    }
    return acceptedAt.size === 0;
  };
  await waitFor('all messages to be sent', allSent, 20_000).catch(() => undefined); // missing ones are counted
  await provider.release();
  if (hangs && hung === 0) throw new Error('the provider that was to hang got no message: nothing was disturbed');
  await waitFor('what hung to end', async () => (await underWay(sql)) === 0, 30_000);
  return { delaysMs, sent: delaysMs.length + acceptedAt.size };
}
