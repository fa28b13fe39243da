import type { Client } from '@customer-platform/client';
import type { Envelope } from '@customer-platform/contracts/core';
import { type Receiver, rawRequest, startReceiver, waitFor } from '@customer-platform/testkit';
import { expect } from '@jest/globals';
import { retryingClient } from './setup.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;
export const dayMs = 86_400_000;

/** Installation on which the year is played. */
interface Installation {
  gatewayUrl: string;
  adminUrl: string;
  adminToken: string;
}

/** Sandbox with due work throughout the next year. */
export interface Year {
  /** Id of the sandbox. */
  accountId: string;
  client: Client;
  live: Client;
  startedAt: number;
  target: string;
  /** Kinds and times of the events that its endpoint received, in order of first arrival. */
  told(): { type: string; at: number }[];
  /** Starts to advance the clock by a year. */
  begin(): Promise<void>;
  /** Waits until the clock has reached the target. */
  ready(): Promise<void>;
  /** Expects all due work to have happened on time. */
  expectPlayed(): Promise<void>;
  stop(): Promise<void>;
}

const always = [['00:00', '24:00']] as [string, string][];
const hours = Object.fromEntries(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'].map((day) => [day, always]));

/** Creates an account, and in its sandbox all work that is due within the year. */
export async function openYear(installation: Installation): Promise<Year> {
  const [listener, failing, paused] = [await startReceiver(), await startReceiver(), await startReceiver()];
  failing.respond = (_request, response) => response.writeHead(500).end();
  const { accountId, client, live } = await makeAccount(installation);
  const endpoint = (receiver: Receiver, events: string[]) =>
    client.webhooks.create({ body: { url: receiver.url, events } });
  await endpoint(listener, ['*']);
  const exhausted = await endpoint(failing, ['contact.created']);
  const held = await endpoint(paused, ['*']);
  await pause(installation, 'webhooks/deliveries', { account: accountId, endpoint: held.id });
  const startedAt = Date.parse((await client.sandbox.clock.get()).now);
  const target = new Date(startedAt + 365 * dayMs).toISOString();
  const due = await fillYear({ installation, accountId, client, startedAt });
  const told = () => firstTold(listener);
  return {
    accountId,
    client,
    live,
    startedAt,
    target,
    told,
    async begin() {
      await client.sandbox.clock.advance({ body: { advance_to: target } });
    },
    ready: () => readyAt(client, target),
    async expectPlayed() {
      await expectMessages(client, due);
      await expectExhausted(client, exhausted.id);
      expectInOrder(told(), startedAt, due);
      expect(paused.received).toEqual([]);
      const { now } = await client.sandbox.clock.get();
      expect(Date.parse(now)).toBeGreaterThanOrEqual(Date.parse(target));
    },
    async stop() {
      await Promise.all([listener, failing, paused].map((server) => server.stop()));
    },
  };
}

/** Timeout of a failing run. The five-minute limit for a year is a figure in bench/measured.md, because other tests would distort it. */
const playMs = 900_000;

async function readyAt(client: Client, target: string): Promise<void> {
  await waitFor(
    `the clock to be at ${target}`,
    async () => (await client.sandbox.clock.get()).status === 'ready',
    playMs,
  );
}

async function makeAccount({ gatewayUrl, adminUrl, adminToken }: Installation) {
  const admin = async (path: string, body: unknown) => {
    const response = await rawRequest(adminUrl, 'POST', path, { body, key: adminToken });
    if (response.status !== 201) throw new Error(`${path} got ${response.status}: ${response.text}`);
    return response.body;
  };
  const rate_limit = { per_minute: 1_000_000, burst: 100_000 };
  const made = await admin('/admin/accounts', { name: 'Year', timezone: 'UTC', rate_limit });
  await admin(`/admin/accounts/${made.sandbox_id}/members`, { name: 'Ada', email: 'ada@example.com' });
  const keyOf = async (mode: string) =>
    (await admin(`/admin/accounts/${made.id}/keys`, { name: mode, mode, scopes: ['*'] })).key as string;
  const [client, live] = [
    retryingClient(gatewayUrl, await keyOf('test')),
    retryingClient(gatewayUrl, await keyOf('live')),
  ];
  return { accountId: made.sandbox_id as string, client, live };
}

async function pause({ adminUrl, adminToken }: Installation, queue: string, part: object): Promise<void> {
  const body = { ...part, reason: 'A pause that must not delay the clock' };
  const response = await rawRequest(adminUrl, 'POST', `/admin/queues/${queue}/pause`, { body, key: adminToken });
  expect(response.status).toBe(204);
}

interface Filling {
  installation: Installation;
  accountId: string;
  client: Client;
  startedAt: number;
}

/** Times within the year, by the account's clock. */
type Moments = Awaited<ReturnType<typeof fillYear>>;

async function fillYear({ installation, accountId, client, startedAt }: Filling) {
  // The sandbox's provider sends no receipt for addresses that end in 04.
  const contact = await client.cdp.contacts.create({
    body: { name: 'Casey', phone: '+4930901804', email: 'casey04@example.com' },
  });
  const lapsingAt = await requestPlan(client, contact.id);
  const leavingAt = await visit(client, contact.id);
  const steps = (['whatsapp', 'sms', 'email'] as const).map((channel) => ({
    channel,
    body: 'Are you there?',
    ...(channel === 'email' ? { subject: 'Hello' } : {}),
    fallback_after_seconds: 3_600,
  }));
  const sendAt = startedAt + 200 * dayMs;
  const falling = await client.messages.send({
    body: { contact: contact.id, channels: steps, reference: 'falling', send_at: new Date(sendAt).toISOString() },
  });
  const startsAt = Math.ceil((startedAt + 100 * dayMs) / hourMs) * hourMs;
  const appointment = await book(client, contact.id, startsAt);
  // This article stays unread while its queue is paused.
  await pause(installation, 'agents/readings', { account: accountId });
  await client.agents.knowledge.sources.create({ body: { kind: 'article', title: 'Later', body: 'It waits.' } });
  return { lapsingAt, leavingAt, sendAt, falling: falling.id, startsAt, appointment };
}

/** Requests a plan that nobody decides. Returns the time when it expires. */
async function requestPlan(client: Client, contact: string): Promise<number> {
  const agent = await client.agents.create({ body: { name: 'Robin', role: 'Helps' } });
  const params = { agent_id: agent.id };
  await client.agents.workflow.draft.put({ params, body: { blocks: [{ id: 'help', kind: 'ai' }] } });
  await client.agents.workflow.publish({ params });
  await client.agents.goLive({ params });
  const plan = await client.agents.plans.request({ params, body: { contact, goal: 'Say hello' } });
  const awaiting = await waitFor('the plan', async () => {
    const found = await client.agents.plans.get({ params: { plan_id: plan.id } });
    return found.status === 'awaiting_approval' && found;
  });
  return Date.parse(awaiting.expires_at!);
}

/** Creates an audience with the contact as a member for 30 days. Returns the time when the contact leaves. */
async function visit(client: Client, contact: string): Promise<number> {
  const at = new Date(Date.now() - hourMs);
  await client.cdp.events.record({ body: { events: [{ contact, name: 'visited', at: at.toISOString() }] } });
  const rules = {
    match: 'all' as const,
    conditions: [{ type: 'event' as const, op: 'did' as const, name: 'visited', days: 30, at_least: 1 }],
  };
  const { id } = await client.cdp.audiences.create({ body: { name: 'Visitors', rules } });
  await waitFor('the member', async () => {
    const audience = await client.cdp.audiences.get({ params: { audience_id: id } });
    return audience.status === 'ready' && audience.members === 1;
  });
  return at.getTime() + 30 * dayMs;
}

async function book(client: Client, contact: string, startsAt: number): Promise<string> {
  await waitFor('the teammate', () => client.calendar.staff.create({ body: { email: 'ada@example.com', hours } }));
  await client.calendar.settings.update({
    body: {
      reminders: [
        { minutes_before: 1_440, channel: 'sms' },
        { minutes_before: 60, channel: 'sms' },
      ],
    },
  });
  const type = await client.calendar.bookingTypes.create({
    body: { name: 'Call', duration_minutes: 30, staff: ['ada@example.com'], window_days: 365 },
  });
  const body = { contact, booking_type: type.id, starts_at: new Date(startsAt).toISOString() };
  return (await client.calendar.appointments.create({ body })).id;
}

/** Returns the distinct events that a receiver got. */
function firstTold({ received }: Receiver): { type: string; at: number }[] {
  const events = new Map<string, { type: string; at: number }>();
  for (const { body } of received) {
    const { id, type, timestamp } = JSON.parse(body) as Envelope;
    if (!events.has(id)) events.set(id, { type, at: Date.parse(timestamp) });
  }
  return [...events.values()];
}

/** Maximum delay of due work. */
const lateMs = minuteMs;

function expectAt(shown: string | number, momentMs: number): void {
  const ms = (typeof shown === 'string' ? Date.parse(shown) : shown) - momentMs;
  expect(ms).toBeGreaterThanOrEqual(0);
  expect(ms).toBeLessThan(lateMs);
}

/** Expects reminders a day and an hour before the appointment, and fallbacks of the message an hour apart. */
async function expectMessages(client: Client, { appointment, startsAt, falling, sendAt }: Moments): Promise<void> {
  const { data } = await client.messages.list({ query: { reference: `appointment-${appointment}` } });
  const reminders = data.reverse().slice(-2);
  expect(reminders).toHaveLength(2);
  expectAt(reminders[0]!.created_at, startsAt - dayMs);
  expectAt(reminders[1]!.created_at, startsAt - hourMs);
  const { attempts } = await client.messages.get({ params: { message_id: falling } });
  expect(attempts.map(({ channel }) => channel)).toEqual(['whatsapp', 'sms', 'email']);
  for (const [index, attempt] of attempts.entries()) expectAt(attempt.started_at, sendAt + index * hourMs);
}

/** Default retry schedule in milliseconds. */
const waits = [0, 5_000, 5 * minuteMs, 30 * minuteMs, ...[2, 5, 10, 14, 20, 24].map((count) => count * hourMs)];

async function expectExhausted(client: Client, endpoint: string): Promise<void> {
  const { data } = await client.webhooks.deliveries.list({ params: { endpoint_id: endpoint } });
  expect(data).toHaveLength(1);
  const { status, reason, tries } = data[0]!;
  expect([status, reason, tries.length]).toEqual(['failed', 'exhausted', waits.length]);
  for (const [index, { at }] of tries.entries()) {
    if (index === 0) continue;
    const waited = Date.parse(at) - Date.parse(tries[index - 1]!.at);
    expect(waited).toBeGreaterThanOrEqual(waits[index]!);
    expect(waited).toBeLessThan(waits[index]! * 1.1 + lateMs);
  }
}

/** Checks only events after the first hour, because events of the preparation come from several services without a common order. */
function expectInOrder(
  told: readonly { type: string; at: number }[],
  startedAt: number,
  { lapsingAt, leavingAt }: Moments,
): void {
  const played = told.filter(({ at }) => at > startedAt + hourMs);
  expect(played.map(({ at }) => at)).toEqual(played.map(({ at }) => at).sort((a, b) => a - b));
  const of = (kind: string) => played.filter(({ type }) => type === kind).map(({ at }) => at);
  expect([of('plan.expired').length, of('audience.left').length]).toEqual([1, 1]);
  expectAt(of('plan.expired')[0]!, lapsingAt);
  expectAt(of('audience.left')[0]!, leavingAt);
}
