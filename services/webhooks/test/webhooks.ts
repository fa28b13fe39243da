import { createHmac, randomUUIDv7 } from 'node:crypto';
import type { Delivery, Endpoint } from '@customer-platform/contracts/webhooks';
import { type Database, inTransaction, type ReceivedEvent } from '@customer-platform/service-kit';
import {
  type Platform,
  type Received,
  type Receiver,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { takeEvents } from '../src/events/events.sql.ts';

/** Registers an endpoint at a receiver's address; the response shows its secret. */
export function register(account: TestAccount, url: string, body: Partial<Pick<Endpoint, 'events' | 'active'>> = {}) {
  return account.client.webhooks.create({ body: { url, ...body } });
}

/** Makes the platform publish contact.created: adds a contact. */
export function emitContactCreated(account: TestAccount, name = 'Ada') {
  return account.patientClient.cdp.contacts.create({ body: { name } });
}

/** Makes the platform publish events of 120 kB: each has all fields of a contact twice, as they are and as they were. */
export async function emitLarge(account: TestAccount, count: number): Promise<void> {
  const fieldsOf = (round: number) =>
    Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`f${index}`, String.fromCharCode(97 + (round % 26)).repeat(1_000)]),
    );
  const { id } = await account.client.cdp.contacts.create({ body: { name: 'Large', fields: fieldsOf(0) } });
  for (let round = 1; round < count; round++) {
    await account.client.cdp.contacts.update({ params: { contact_id: id }, body: { fields: fieldsOf(round) } });
  }
}

/** Records events of an account as the consumer does, past the bus and without news of it: `bytes` is the size of their data. */
export async function recordEvents(
  sql: Database,
  account: string,
  count: number,
  { type = 'deal.won', bytes = 10 } = {},
): Promise<void> {
  const events = Array.from({ length: count }, (): ReceivedEvent => {
    const data = { text: 'x'.repeat(bytes) };
    const timestamp = '2026-11-21T03:00:00Z';
    const content = { id: randomUUIDv7(), type, timestamp, account, mode: 'live', data } as const;
    return { ...content, sequence: 0, text: JSON.stringify(content), trace: undefined };
  });
  await inTransaction(sql, (tx) => takeEvents(tx, events, new Date(), new Date()));
}

/**
 * Has a process, by its name as an owner, lease no further queue of these accounts, or no process where it is undefined: whoever is faster would have
 * all of them. Returns a function that ends it.
 */
export async function keepFrom(sql: Database, owner: string | undefined, accountIds: readonly string[]) {
  const isOwner = owner === undefined ? '' : `and new.owner = '${owner}'`;
  const list = accountIds.map((id) => `'${id}'`).join();
  await sql.unsafe(`
    create function keep_from() returns trigger language plpgsql as 'begin return null; end';
    create trigger keep_from before update of owner on queues for each row
    when (old.owner is null ${isOwner} and new.account_id in (${list})) execute function keep_from()`);
  return () => sql`drop function keep_from cascade`;
}

/** The deliveries to an endpoint, newest first. */
export async function deliveriesTo(account: TestAccount, endpointId: string): Promise<Delivery[]> {
  const page = await account.client.webhooks.deliveries.list({
    params: { endpoint_id: endpointId },
    query: { limit: 100 },
  });
  return page.data;
}

/** Waits for the newest delivery to an endpoint that `matches`. */
export function delivery(
  account: TestAccount,
  endpointId: string,
  matches: (delivery: Delivery) => boolean = (one) => one.status !== 'pending',
  timeoutMs?: number,
): Promise<Delivery> {
  const find = async () => (await deliveriesTo(account, endpointId)).find(matches);
  return waitFor('a delivery', find, timeoutMs);
}

/** Has an endpoint that responds take four events, after which it is trusted with ten tries at once. */
export async function earnCap(account: TestAccount, endpointId: string): Promise<void> {
  await Promise.all([1, 2, 3, 4].map((i) => emitContactCreated(account, `Earns ${i}`)));
  await waitFor('its responses', async () => {
    const all = await deliveriesTo(account, endpointId);
    return all.filter((one) => one.status === 'delivered').length >= 4;
  });
}

/** Returns whether one of a request's signatures is this secret's: Standard Webhooks, written here a second time to check the first. */
export function isSignedBy(secret: string, { headers, body }: Received): boolean {
  const key = Buffer.from(secret.slice(6), 'base64');
  const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const signature = `v1,${createHmac('sha256', key).update(text).digest('base64')}`;
  return String(headers['webhook-signature']).split(' ').includes(signature);
}

/** Makes an account with one endpoint at a receiver that responds with `status`; the receiver is added to `receivers`, to be stopped. */
export async function openEndpoint(
  platform: Platform,
  receivers: Receiver[],
  [status, headers = {}, body = '']: EndpointResponse,
) {
  const account = await platform.account();
  const receiver = await startReceiver();
  receivers.push(receiver);
  const respondWith = (next: number) => {
    receiver.respond = (_, response) => response.writeHead(next, headers).end(body);
  };
  respondWith(status);
  const endpoint = await register(account, receiver.url);
  return { account, receiver, endpoint, params: { endpoint_id: endpoint.id }, respondWith };
}

/** The status that a receiver responds with, its headers and its body. */
export type EndpointResponse = [status: number, headers?: Record<string, string>, body?: string];

export const hasTries = (count: number) => (one: { tries: unknown[] }) => one.tries.length === count;

/** Returns the milliseconds from the end of a delivery's last try to its next one. */
export function waitMs(one: { next_try_at: string | null; tries: { at: string; duration_ms: number }[] }): number {
  const last = one.tries.at(-1)!;
  return Date.parse(one.next_try_at!) - Date.parse(last.at) - last.duration_ms;
}

/** Most time between the end of a try and its being measured, each rounded. */
export const slackMs = 2000;
