import { type Client, eachOf } from '@customer-platform/client';
import type { MessageDetail } from '@customer-platform/contracts/messaging';
import { type ProcessPlatform, startProcessPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import postgres from 'postgres';
import { callHook, idOf, type OwnProvider, type Sent, sentBy, startOwnProvider } from './own-provider.ts';
import { killAndSeeBack } from './processes.ts';
import { retryingClient } from './setup.ts';

const kills = 4;
const writers = 6;
/** Milliseconds that the provider takes per message, so that some are in flight at every kill. */
const responseMs = 250;

let platform: ProcessPlatform;
let provider: OwnProvider;
let client: Client;
let sql: postgres.Sql;
let whatsappHook: string;

beforeAll(async () => {
  platform = await startProcessPlatform();
  provider = await startOwnProvider();
  sql = postgres(platform.databaseUrl, { max: 2, onnotice: () => undefined });
  client = retryingClient(platform.gatewayUrl, (await platform.account()).key);
  const set = await client.messages.channels.put({ params: { channel: 'whatsapp' }, body: provider.settings });
  whatsappHook = new URL(set.hook_url).pathname;
  await client.messages.channels.put({ params: { channel: 'sms' }, body: provider.settings });
}, 180_000);
afterAll(async () => {
  await sql?.end();
  await platform?.stop();
  await provider?.stop();
}, 60_000);

/** Reports that a message was delivered, and retries until it is accepted, like a provider. */
async function reportDelivered(sent: Sent): Promise<void> {
  const receipt = { type: 'receipt', id: idOf(sent), status: 'delivered', at: new Date().toISOString() };
  const hook = { gatewayUrl: platform.gatewayUrl, path: whatsappHook, secret: provider.secret };
  await waitFor('the receipt to be accepted', async () => (await callHook(hook, receipt)).status === 200, 60_000);
}

/** Accepted messages by reference, and those that the provider reported as delivered. */
const accepted = new Map<string, string>();
const delivered = new Set<string>();
const reports: Promise<void>[] = [];
let sends = 0;

/** Makes the provider slow. It reports every other WhatsApp message as delivered; the others fall back to SMS. */
function respondSlowly(): void {
  provider.respond = (request, response) => {
    const sent = sentBy(request);
    setTimeout(() => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: idOf(sent) }));
      if (sent.channel !== 'whatsapp' || !sent.body.endsWith('0')) return;
      delivered.add(sent.message);
      reports.push(reportDelivered(sent));
    }, responseMs);
  };
}

/** Sends one message, at `send_at` if given, and returns its id once it is accepted. */
async function send(send_at?: string): Promise<string> {
  const reference = `key-${sends++}`;
  const body = `${reference} ${sends % 2}`;
  const channels = [
    { channel: 'whatsapp' as const, body, fallback_after_seconds: 10 },
    { channel: 'sms' as const, body, fallback_after_seconds: 10 },
  ];
  const message = await client.messages.send({
    body: { to: '+4930901820', channels, reference, ...(send_at ? { send_at } : {}) },
    idempotencyKey: reference,
  });
  accepted.set(reference, message.id);
  return message.id;
}

it(`sends nothing twice and loses nothing when it is killed ${kills} times while it sends`, async () => {
  respondSlowly();
  let isOver = false;
  const sendAt = new Date(Date.now() + 8_000);
  const scheduled = await Promise.all(Array.from({ length: 20 }, () => send(sendAt.toISOString())));
  const writing = Array.from({ length: writers }, async () => {
    while (!isOver) await send();
  });
  let killedAt = new Date(0);
  for (let kill = 0; kill < kills; kill++) {
    const before = provider.received.length;
    await waitFor('messages to go out', () => provider.received.length > before + writers, 20_000);
    killedAt = await killAndSeeBack(platform, 'messaging');
  }
  isOver = true;
  await Promise.all(writing);
  await waitFor('the last kill to be over', async () => (await send()) !== undefined);

  // Attempts of a killed process count as lost after 45 s. Moves their start back.
  await sql`
    update messaging.attempts set running_since = running_since - interval '1 minute' where running_since <= ${killedAt}`;
  await waitFor('every attempt to be over', async () => (await unfinished()) === 0, 40_000);
  await Promise.all(reports);

  await expectEachOnce();
  const messages: MessageDetail[] = [];
  for (const message_id of accepted.values()) messages.push(await client.messages.get({ params: { message_id } }));
  expectNothingTwice(messages);
  expectEnds(messages);
  // Schedules survived: each scheduled message was sent, none of them early.
  for (const id of scheduled) {
    const [first] = messages.find((message) => message.id === id)!.attempts;
    expect(new Date(first!.started_at).getTime()).toBeGreaterThanOrEqual(sendAt.getTime());
  }
}, 180_000);

/** Expects every accepted message to be listed once. */
async function expectEachOnce(): Promise<void> {
  const listed = new Map<string, string[]>();
  for await (const { id, reference } of eachOf((page) => client.messages.list({ query: { limit: 100, ...page } })))
    listed.set(reference!, [...(listed.get(reference!) ?? []), id]);
  expect(listed).toEqual(new Map([...accepted].map(([reference, id]) => [reference, [id]])));
}

/** Expects that no attempt reached the provider twice or unknown to Messages, and that each accepted one reached it. */
function expectNothingTwice(messages: MessageDetail[]): void {
  const sent = provider.sent();
  expect(sent.length - new Set(sent.map(({ attempt }) => attempt)).size).toBe(0);
  const attempts = messages.flatMap((message) =>
    message.attempts.map((attempt) => ({ ...attempt, message: message.id })),
  );
  const tried = new Set(attempts.map(({ message, channel }) => `${message} ${channel}`));
  expect(sent.filter(({ message, channel }) => !tried.has(`${message} ${channel}`))).toEqual([]);
  // Accepted attempts were accepted; those interrupted by a kill are unknown, with their reason, and never retried.
  const ends = new Set(attempts.map(({ status, reason }) => `${status} ${reason}`));
  expect([...ends].sort()).toEqual(['delivered null', 'sent null', 'unknown no_answer']);
  const reached = new Set(sent.map(({ message, channel }) => `${message} ${channel}`));
  const taken = attempts.filter(({ status }) => status !== 'unknown');
  expect(taken.filter(({ message, channel }) => !reached.has(`${message} ${channel}`))).toEqual([]);
}

/** Expects that each message ended like its attempts. */
function expectEnds(messages: MessageDetail[]): void {
  // A message that no provider is known to have accepted has failed, with a reason.
  for (const { status, error, attempts } of messages) {
    const isTaken = attempts.some(({ status }) => status !== 'unknown');
    const isDelivered = attempts.some(({ status }) => status === 'delivered');
    expect([status, error?.code]).toEqual([
      isDelivered ? 'delivered' : isTaken ? 'sent' : 'failed',
      isTaken ? undefined : 'no_answer',
    ]);
  }
  // Timers survived: a message without a receipt by WhatsApp fell back to SMS. Receipts survived: one with a receipt did not.
  for (const { id, attempts } of messages) {
    const isKnown = attempts[0]!.provider_id !== null;
    const isReached = delivered.has(id) && isKnown;
    expect([id, attempts.length, attempts[0]!.status === 'delivered']).toEqual([id, isReached ? 1 : 2, isReached]);
  }
}

/** Returns the number of attempts that are not finished. */
async function unfinished(): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int from messaging.attempts
    where due_at is not null or running_since is not null or falls_back_at is not null
      or exists (select 1 from messaging.messages where status = 'scheduled')`;
  return row!.count;
}
