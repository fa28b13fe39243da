import { randomUUID } from 'node:crypto';
import { createClient } from '@customer-platform/client';
import { signatureHeader, signingKeyOf } from '@customer-platform/outbound';
import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';
import type postgres from 'postgres';
import { atLeast, atMost, type Bench, type Figure, median, percentile, told } from './figures.ts';
import { connect, type Receiver, startPlatform, startReceiver, watchCpu } from './harness.ts';
import { closedLoop, openLoop, requestBytes } from './load.ts';
import { untilIdle } from './process-usage.ts';
import { arrivedFigure, byTurns, delayOf, delaysAt, disturbedFigures, type Round } from './rounds.ts';

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
  provider: Receiver;
  sql: postgres.Sql;
  senders: Sender[];
}

export const messagesBench: Bench = {
  name: 'messages',
  summary: 'messages taken and sent through a provider on the same machine',
  async measure() {
    const provider = await startReceiver();
    const platform = await startPlatform();
    const senders: Sender[] = [];
    for (let index = 0; index < accounts; index++) senders.push(await sender(platform, provider, index));
    const setting = { platform, provider, sql: connect(platform), senders };
    return [...(await accepting(setting)), ...(await latency(setting)), ...(await hookLatencies(setting))];
  },
};

async function sender(platform: ProcessPlatform, provider: Receiver, index: number): Promise<Sender> {
  const { id, key } = await platform.account();
  const client = createClient({ baseUrl: platform.gatewayUrl, apiKey: key });
  const sendOn = async (channel: 'sms' | 'whatsapp') => {
    const settings = { url: `${provider.url}/send/${channel}/${index}` };
    const channelSet = await client.messages.channels.put({
      params: { channel },
      body: { provider: 'http', settings },
    });
    const body = JSON.stringify({ to: phone, channels: [{ channel, body: 'Your parcel is on its way.' }] });
    const send = requestBytes(platform.gatewayUrl, 'POST /v1/messages', { authorization: `Bearer ${key}` }, body);
    return { send, hook: { url: channelSet.hook_url, secret: String(channelSet.settings.secret) } };
  };
  const [sms, whatsapp] = [await sendOn('sms'), await sendOn('whatsapp')];
  const inbound = () => inboundRequest(platform.gatewayUrl, sms.hook, phone);
  return { id, sms: sms.send, whatsapp: whatsapp.send, inbound };
}

/** Returns a request to a channel's hook with an inbound message from `phone`, signed now like the channel's provider. */
export function inboundRequest(gatewayUrl: string, hook: { url: string; secret: string }, phone: string): Buffer {
  const at = new Date();
  const id = randomUUID();
  const body = JSON.stringify({ type: 'inbound', from: phone, body: 'When does it come?', id, at: at.toISOString() });
  const seconds = Math.floor(at.getTime() / 1_000);
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatureHeader(id, seconds, body, [signingKeyOf(hook.secret)]),
  };
  return requestBytes(gatewayUrl, `POST ${new URL(hook.url).pathname}`, headers, body);
}

/** Measures inbound messages at a steady rate, until each is accepted and has become an event. */
async function hookLatencies({ platform, sql, senders }: Setting): Promise<Figure[]> {
  let made = 0;
  const next = () => senders[made++ % accounts]!.inbound();
  const load = { url: platform.gatewayUrl, connections, next, expected: 200 };
  await openLoop(load, sendsPerSecond, warmingMs);
  const { latenciesMs } = await openLoop(load, sendsPerSecond, steadyMs);
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
  const pids = serviceNames.map((name) => platform.pidOf(name)!);
  const [accepted, sent, micros]: [number[], number[], number[][]] = [[], [], []];
  let made = 0;
  const next = () => senders[made++ % accounts]!.sms;
  const load = { url: platform.gatewayUrl, connections, next, expected: 202 };
  const isPublished = async () => (await sql`select 1 from messaging.outbox limit 1`).length === 0;
  for (let round = 0; round <= rounds; round++) {
    const used = watchCpu(platform, [...serviceNames, 'postgres']);
    const began = performance.now();
    const { responses, seconds } = await closedLoop(load, round === 0 ? warmingMs : acceptMs);
    await waitFor('all messages to be sent', async () => (await underWay(sql)) === 0, 40_000);
    const sentSeconds = (performance.now() - began) / 1_000;
    await waitFor('the outbox to be empty', isPublished);
    const costs = used(responses);
    await untilIdle(pids, 3_000);
    const arrived = new Set((await provider.arrivals()).map(({ id }) => id)).size;
    if (arrived !== responses) throw new Error(`${responses} messages were accepted, but ${arrived} were sent`);
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

/** Target of a tenth of a round: the same as the rest, the hanging provider of one account, or that of every account's other channel. */
const tenths = {
  calm: { channel: 'sms' },
  account: { channel: 'sms', hangs: `/send/sms/${accounts - 1}` },
  channel: { channel: 'whatsapp', hangs: '/send/whatsapp' },
} as const;
type Tenth = (typeof tenths)[keyof typeof tenths];

/** Measures the time from the acceptance of a message to the call of its provider; undisturbed, and with a tenth that hangs. */
async function latency(setting: Setting): Promise<Figure[]> {
  const kinds = Object.values(tenths).map((tenth) => () => steadyRound(setting, tenth));
  const [calm, account, channel] = await byTurns(kinds);
  const what = `${sendsPerSecond} sends/s, accepted to provider called`;
  return [
    told(`${what}: p50`, delayOf(calm, 0.5), 'ms'),
    atMost(`${what}: p99`, delayOf(calm, 0.99), 250, 'ms'),
    ...disturbedFigures('to an account whose provider hangs', account, calm),
    ...disturbedFigures('on another channel of the same accounts, which hangs', channel, calm),
    arrivedFigure('messages on channels that respond that were sent', [...calm, ...account, ...channel]),
  ];
}

/** Returns the delays of the messages on responding channels, measured from the arrival of their requests. */
async function steadyRound({ platform, provider, sql, senders }: Setting, tenth: Tenth): Promise<Round> {
  const hanging = 'hangs' in tenth ? tenth.hangs : undefined;
  if (hanging) await provider.hang(hanging);
  await provider.arrivals();
  const began = new Date();
  let made = 0;
  const next = () => {
    const [turn, place] = [Math.floor(made / accounts), made++ % accounts];
    const isOther = tenth.channel === 'whatsapp' && place === accounts - 1;
    return isOther ? senders[turn % place]!.whatsapp : senders[place]!.sms;
  };
  const load = { url: platform.gatewayUrl, connections, next, expected: 202 };
  const { responses } = await openLoop(load, sendsPerSecond, steadyMs);
  const rows = await sql<{ id: string; created_at: Date; path: string }[]>`
    select id, created_at, '/send/' || (steps -> 0 ->> 'channel') || '/' || array_position(${senders.map(({ id }) => id)}::uuid[], account_id) - 1 as path
    from messaging.messages where created_at >= ${began}`;
  if (rows.length !== responses) throw new Error(`${responses} messages were accepted, but ${rows.length} are stored`);
  const measured = rows.filter(({ path }) => hanging === undefined || !path.startsWith(hanging));
  const acceptedAt = new Map(measured.map(({ id, created_at }) => [id, created_at.getTime()]));
  const round = await delaysAt(provider, acceptedAt, hanging);
  await provider.release();
  if (hanging && round.hung === 0) throw new Error('the hanging provider got no message, so nothing was disturbed');
  await waitFor('what hung to end', async () => (await underWay(sql)) === 0, 30_000);
  return round;
}
