import type { ChildProcess } from 'node:child_process';
import { randomUUIDv7 } from 'node:crypto';
import type { RecordedEvent } from '@customer-platform/contracts/webhooks';
import { inTransaction, type ReceivedEvent, type Sql } from '@customer-platform/service-kit';
import {
  type Platform,
  type Receiver,
  startPlatform,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { holderOfEvents, passEventsOn } from '../../test/event-lease.ts';
import { startSecondProcess } from '../../test/second-process.ts';
import { emitContactCreated, emitLarge, register } from '../../test/webhooks.ts';
import { takeEvents } from './events.sql.ts';

let platform: Platform;
let receiver: Receiver;

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'] });
  receiver = await startReceiver();
});
afterAll(async () => {
  await Promise.all([platform?.stop(), receiver?.stop()]);
});

/** Reads all events of an account by `after_sequence`, page by page. */
async function readAll(account: TestAccount, limit = 100): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for await (const event of account.client.events.list({ query: { after_sequence: 0, limit } })) events.push(event);
  return events;
}

/** Waits until an account has `count` events, and returns them in order. */
const eventsOf = (account: TestAccount, count: number) =>
  waitFor(
    `${count} events`,
    async () => {
      const events = await readAll(account);
      return events.length === count ? events : undefined;
    },
    30_000,
  );

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const sequencesOf = (events: readonly RecordedEvent[]) => events.map(({ sequence }) => sequence);

/** Returns an event of an account as received from the bus. */
function received(account: string, id: string = randomUUIDv7()): ReceivedEvent {
  const content = { id, type: 'deal.won', timestamp: '2026-11-21T03:00:00Z', account, mode: 'live', data: {} } as const;
  return { ...content, sequence: 0, text: JSON.stringify(content), trace: undefined };
}

const take = (tx: Sql, events: ReceivedEvent[]) => takeEvents(tx, events, new Date(), new Date());

it('taking events returns their deliveries with the queues, without known events and skipped deliveries', async () => {
  const account = await platform.account();
  const [one, other] = [await register(account, receiver.url), await register(account, receiver.url)];
  await register(account, receiver.url, { active: false });
  const sql = platform.database('webhooks');
  const [first, second] = [received(account.id), received(account.id)];
  const made = await inTransaction(sql, (tx) => take(tx, [first, second]));
  const queues = await sql<{ endpoint_id: string; version: number; endpoint_version: number }[]>`
    select endpoint_id, version, endpoint_version from queues where account_id = ${account.id}`;
  const expected = [first, second].flatMap(({ id: eventId }, index) =>
    [one, other].map(({ id: endpointId }) => {
      const { version, endpoint_version } = queues.find((queue) => queue.endpoint_id === endpointId)!;
      const id = expect.any(String) as unknown as string;
      return {
        accountId: account.id,
        endpointId,
        id,
        eventId,
        sequence: index + 1,
        version,
        endpointVersion: endpoint_version,
      };
    }),
  );
  const inOrder = (rows: readonly { sequence: number; endpointId: string }[]) =>
    [...rows].sort((a, b) => a.sequence - b.sequence || (a.endpointId < b.endpointId ? -1 : 1));
  expect(inOrder(made)).toEqual(inOrder(expected));
  expect(await inTransaction(sql, (tx) => take(tx, [second]))).toHaveLength(0);
});

describe('the sequence of an account', () => {
  it('counts its events from 1 in the order of their changes, in lists, in one event and in deliveries', async () => {
    const [account, other] = [await platform.account(), await platform.account()];
    await register(account, receiver.url);
    const { id } = await emitContactCreated(account, 'Name 0');
    for (let index = 1; index < 6; index++) {
      await account.client.cdp.contacts.update({ params: { contact_id: id }, body: { name: `Name ${index}` } });
      await emitContactCreated(other);
    }
    const events = await eventsOf(account, 6);
    expect(sequencesOf(events)).toEqual(upTo(6));
    const names = events.map(({ data }) => (data as { contact: { name: string } }).contact.name);
    expect(names).toEqual(upTo(6).map((number) => `Name ${number - 1}`));
    const newestFirst = await account.client.events.list({ query: { limit: 4 } });
    expect(sequencesOf(newestFirst.data)).toEqual([6, 5, 4, 3]);
    expect(await account.client.events.get({ params: { event_id: events[2]!.id } })).toEqual(events[2]);
    expect(sequencesOf(await eventsOf(other, 5))).toEqual(upTo(5));

    const deliveries = await waitFor('the deliveries', () => {
      const own = receiver.received.filter(({ body }) => JSON.parse(body).account === account.id);
      return own.length === 6 ? own : undefined;
    });
    const sent = deliveries.map(({ headers, body }) => [JSON.parse(body).id, headers['webhook-sequence']]);
    expect(sent.sort()).toEqual(events.map(({ id, sequence }) => [id, String(sequence)]).sort());
    // The body of a delivery is the envelope without the sequence.
    for (const { body } of deliveries) expect(Object.keys(JSON.parse(body))).toHaveLength(6);
  });

  it('includes webhook.test once, and repeated events only once', async () => {
    const account = await platform.account();
    const { id } = await register(account, receiver.url);
    await emitContactCreated(account);
    await eventsOf(account, 1);
    await account.client.webhooks.test({ params: { endpoint_id: id }, body: {} });
    await emitContactCreated(account);
    const events = await eventsOf(account, 3);
    expect(events.map(({ type }) => type)).toEqual(['contact.created', 'webhook.test', 'contact.created']);
    const sql = platform.database('webhooks');
    const again = events.map(({ id }) => received(account.id, id));
    await inTransaction(sql, (tx) => take(tx, [again[0]!, received(account.id), again[1]!, again[2]!, again[2]!]));
    expect(sequencesOf(await eventsOf(account, 4))).toEqual(upTo(4));
    await emitContactCreated(account);
    expect(sequencesOf(await eventsOf(account, 5))).toEqual(upTo(5));
  });

  it('has no gap after a rollback, and shows no event before those with lower numbers', async () => {
    const account = await platform.account();
    const sql = platform.database('webhooks');
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    const rolledBack = inTransaction(sql, async (tx) => {
      await take(tx, [received(account.id), received(account.id)]);
      await mayEnd;
      throw new Error('rolled back');
    }).catch((error: Error) => error.message);
    await emitContactCreated(account);
    await waitFor('the event to wait for the one before it', async () => {
      const waiting = await sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and query like '%event_counters%' and datname = current_database()`;
      return waiting.length > 0;
    });
    expect((await account.client.events.list()).data).toEqual([]);
    end();
    expect(await rolledBack).toBe('rolled back');
    expect(sequencesOf(await eventsOf(account, 1))).toEqual([1]);
  });
});

describe('GET /v1/events with after_sequence', () => {
  it('lists later events in ascending order, page by page, of all kinds or one', async () => {
    const account = await platform.account();
    const { id } = await emitContactCreated(account);
    for (let index = 0; index < 4; index++) {
      await account.client.cdp.contacts.update({ params: { contact_id: id }, body: { name: `Name ${index}` } });
    }
    await emitContactCreated(account);
    await eventsOf(account, 6);
    const list = async (query: object) => {
      const { data, has_more, next } = await account.client.events.list({ query });
      return [sequencesOf(data), has_more, next];
    };
    expect(await list({ after_sequence: 2, limit: 2 })).toEqual([[3, 4], true, '4']);
    expect(await list({ after_sequence: 4, limit: 2 })).toEqual([[5, 6], false, null]);
    expect(await list({ after_sequence: 0, type: 'contact.created' })).toEqual([[1, 6], false, null]);
    expect(await list({ after_sequence: 1, type: 'contact.created' })).toEqual([[6], false, null]);
    for (const beyond of ['6', '7', '9007199254740993', '9'.repeat(40)]) {
      const { body } = await account.request('GET', `/v1/events?after_sequence=${beyond}`);
      expect(body).toEqual({ data: [], has_more: false, next: null });
    }
  });

  it('ends pages of large events early, and the pages contain them all', async () => {
    const account = await platform.account();
    await emitLarge(account, 30);
    expect(sequencesOf(await eventsOf(account, 30))).toEqual(upTo(30));
    const first = await account.client.events.list({ query: { after_sequence: 0, limit: 100 } });
    expect([first.data.length < 30, first.next]).toEqual([true, String(first.data.length)]);
  });

  it('begins with the first event within the retention', async () => {
    const account = await platform.account();
    const sql = platform.database('webhooks');
    await inTransaction(sql, (tx) =>
      take(
        tx,
        Array.from({ length: 40 }, () => received(account.id)),
      ),
    );
    await sql`update events set taken_at = taken_at - interval '31 days' where account_id = ${account.id} and sequence <= 33`;
    for (const after of [0, 5, 32, 33]) {
      const { data } = await account.client.events.list({ query: { after_sequence: after, limit: 3 } });
      expect(sequencesOf(data)).toEqual([34, 35, 36]);
    }
    await sql`update events set taken_at = taken_at - interval '31 days' where account_id = ${account.id}`;
    expect((await account.client.events.list({ query: { after_sequence: 0 } })).data).toEqual([]);
  });

  it('is refused by field if it is not a number or is combined with starting_after', async () => {
    const account = await platform.account();
    await emitContactCreated(account);
    const [event] = await eventsOf(account, 1);
    for (const query of ['-1', '1.5', 'x', '', '1e3', '0x1', '%201', `0&starting_after=${event!.id}`]) {
      const { status, body } = await account.request('GET', `/v1/events?after_sequence=${query}`);
      expect([status, body.error.code, body.error.field]).toEqual([400, 'invalid_request', 'after_sequence']);
    }
  });
});

describe('two processes', () => {
  let first: string;
  let second: ChildProcess;
  beforeAll(async () => {
    first = await waitFor('a process that takes events', () => holderOfEvents(platform));
    second = await startSecondProcess(platform);
  }, 60_000);
  afterAll(() => void second?.kill('SIGKILL'));

  it('number the events of one account without gaps and those of one contact in order, even if one is killed', async () => {
    const account = await platform.account();
    const contacts = await Promise.all(upTo(4).map(() => emitContactCreated(account, 'Name 0')));
    const change = async (contact: string, from: number, to: number) => {
      for (let index = from; index < to; index++) {
        const params = { contact_id: contact };
        await account.client.cdp.contacts.update({ params, body: { name: `Name ${index}` } });
      }
    };
    await Promise.all(contacts.map(({ id }) => change(id, 1, 30)));
    await eventsOf(account, 4 * 30);
    await passEventsOn(platform, first);
    await Promise.all(contacts.map(({ id }) => change(id, 30, 40)));
    second.kill('SIGKILL');
    await Promise.all(contacts.map(({ id }) => change(id, 40, 60)));
    const events = await eventsOf(account, 4 * 60);
    expect(sequencesOf(events)).toEqual(upTo(4 * 60));
    for (const { id } of contacts) {
      const own = events.map(({ data }) => (data as { contact: { id: string; name: string } }).contact);
      const names = own.filter((contact) => contact.id === id).map(({ name }) => name);
      expect(names).toEqual(upTo(60).map((number) => `Name ${number - 1}`));
    }
  }, 60_000);
});
