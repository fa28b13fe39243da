import { Bus, createLogger } from '@customer-platform/service-kit';
import {
  type EventReader,
  type Platform,
  readStream,
  startPlatform,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { holderOfEvents, passEventsOn } from '../../test/event-lease.ts';
import { startSecondProcess } from '../../test/second-process.ts';
import { emitContactCreated, recordEvents, register } from '../../test/webhooks.ts';

let platform: Platform;
const readers: EventReader[] = [];

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'] });
});
afterEach(() => {
  for (const reader of readers.splice(0)) reader.close();
});
afterAll(() => platform?.stop());

/** Opens a stream of an account. */
async function open(
  { key }: Pick<TestAccount, 'key'>,
  { query = '', last }: { query?: string; last?: string } = {},
): Promise<EventReader> {
  const headers: Record<string, string> = last === undefined ? {} : { 'Last-Event-ID': last };
  const reader = await readStream(`${platform.gatewayUrl}/v1/events/stream${query}`, key, headers);
  readers.push(reader);
  return reader;
}

const record = (account: string, count: number, options?: { type?: string; bytes?: number }) =>
  recordEvents(platform.database('webhooks'), account, count, options);

const idsOf = ({ events }: EventReader) => events.map(({ id }) => Number(id));
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const received = (reader: EventReader, count: number) =>
  waitFor(`${count} events`, () => reader.events.length >= count && reader.events);

describe('a stream', () => {
  it('sends each event from now on, with its sequence as id and its kind', async () => {
    const [account, other] = [await platform.account(), await platform.account()];
    await emitContactCreated(account, 'Before');
    await waitFor('the event', async () => (await account.client.events.list()).data.length === 1);
    const reader = await open(account);
    expect([reader.status, reader.headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(reader.headers).toMatchObject({ 'cache-control': 'no-store', 'request-id': expect.any(String) });
    await emitContactCreated(other);
    const contact = await emitContactCreated(account, 'One\nTwo');
    await account.client.cdp.contacts.update({ params: { contact_id: contact.id }, body: { name: 'Three' } });
    const events = await received(reader, 2);
    const sent = [await platform.event(account.id, 'contact.created', (data) => data.contact.id === contact.id)];
    sent.push(await platform.event(account.id, 'contact.updated'));
    expect(events).toEqual(sent.map((data, index) => ({ id: String(index + 2), event: data.type, data })));
  });

  it('sends only the requested kinds', async () => {
    const account = await platform.account();
    const readers = await Promise.all([
      open(account, { query: '?types=contact.updated,webhook.*' }),
      open(account, { query: '?types=webhook.test,webhook.test' }),
      open(account, { query: '?types=order.*,*' }),
    ]);
    const { id } = await emitContactCreated(account);
    await account.client.cdp.contacts.update({ params: { contact_id: id }, body: { name: 'New' } });
    await waitFor('both', async () => (await account.client.events.list()).data.length === 2);
    const endpoint = await register(account, 'http://127.0.0.1:1');
    await account.client.webhooks.test({ params: { endpoint_id: endpoint.id }, body: {} });
    for (const [index, reader] of readers.entries()) await received(reader, 3 - [1, 2, 0][index]!);
    expect(readers.map(idsOf)).toEqual([[2, 3], [3], [1, 2, 3]]);
  });

  it('continues after the last event of a reader, without loss or repetition, over many pages', async () => {
    const account = await platform.account();
    await record(account.id, 700);
    const first = await open(account, { query: '?after_sequence=5' });
    await received(first, 300);
    first.close();
    const last = first.events.at(-1)!.id;
    await record(account.id, 500);
    // The header takes precedence.
    const second = await open(account, { query: '?after_sequence=2', last });
    await record(account.id, 300);
    await received(second, 1_500 - Number(last));
    expect([...idsOf(first), ...idsOf(second)]).toEqual(numbers(6, 1_500));
    const [none, rare] = [
      await open(account, { last: '1500' }),
      await open(account, { query: '?types=deal.lost&after_sequence=0' }),
    ];
    await record(account.id, 1, { type: 'deal.lost' });
    await Promise.all([received(none, 1), received(rare, 1)]);
    expect([idsOf(none), idsOf(rare)]).toEqual([[1_501], [1_501]]);
  });

  it('begins with the first event within the retention', async () => {
    const account = await platform.account();
    await record(account.id, 20);
    await platform.database('webhooks')`
      update events set taken_at = taken_at - interval '31 days' where account_id = ${account.id} and sequence <= 15`;
    const reader = await open(account, { query: '?after_sequence=3' });
    await received(reader, 5);
    expect(idsOf(reader)).toEqual(numbers(16, 20));
  });

  it('sends events that another process recorded', async () => {
    const account = await platform.account();
    const first = await waitFor('a process that takes events', () => holderOfEvents(platform));
    const second = await startSecondProcess(platform);
    try {
      const reader = await open(account);
      await passEventsOn(platform, first);
      for (let index = 0; index < 20; index++) await emitContactCreated(account);
      await received(reader, 20);
      expect(idsOf(reader)).toEqual(numbers(1, 20));
    } finally {
      second.kill('SIGKILL');
    }
  }, 60_000);

  it('sends examples and tests without waiting for its poll', async () => {
    const account = await platform.account();
    const { NATS_URL, BUS_PREFIX } = platform.env('webhooks');
    const log = createLogger('test', 'silent');
    const bus = await Bus.connect(NATS_URL!, { prefix: BUS_PREFIX!, service: 'webhooks', log });
    const told: string[] = [];
    bus.onNews('webhooks', 'recorded-events', (payload) => void told.push(...payload.split(' ').slice(1)));
    const timesTold = (id: string) => told.filter((each) => each === id).length;
    try {
      await open({ key: account.testKey });
      await waitFor('news of an example', async () => {
        await account.testClient.events.trigger({ body: { type: 'deal.won' } });
        return timesTold(account.sandboxId) > 0;
      });
      const { id } = await register(account, 'http://127.0.0.1:1');
      await account.client.webhooks.test({ params: { endpoint_id: id }, body: {} });
      // At once, and when the event arrives over the bus.
      await waitFor('news of a test, twice', () => timesTold(account.id) === 2);
    } finally {
      await bus.close();
    }
  });

  it('of a stalled reader is cut off, and nothing is lost when it resumes', async () => {
    const account = await platform.account();
    const key = await platform.issueKey(account.id);
    const slow = await open({ key });
    slow.pause();
    // More than all buffers in between hold.
    for (let batch = 0; batch < 8; batch++) await record(account.id, 5, { bytes: 500_000 });
    await Promise.all(numbers(1, 4).map(() => open({ key })));
    // The stream that was cut off no longer counts.
    await waitFor('a place for a stream', async () => (await open({ key })).status === 200, 60_000);
    slow.resume();
    await waitFor('its end', () => slow.end === 'cut off');
    const rest = await open(account, { query: '?after_sequence=0', last: slow.events.at(-1)?.id ?? '0' });
    await received(rest, 40 - slow.events.length);
    expect([...idsOf(slow), ...idsOf(rest)]).toEqual(numbers(1, 40));
  }, 120_000);

  it('sends a comment every 15 s, and the headers at once', async () => {
    const reader = await open(await platform.account());
    await waitFor('a comment', () => reader.comments === 1);
    expect(reader.events).toEqual([]);
  }, 40_000);
});

describe('a request for a stream', () => {
  it('is refused by field if invalid', async () => {
    const account = await platform.account();
    const refusal = async (query: string, last?: string) => {
      const reader = await open(account, { query, ...(last === undefined ? {} : { last }) });
      await waitFor('the refusal', () => reader.end);
      const { error } = JSON.parse(reader.body);
      return [reader.status, error.code, error.field];
    };
    for (const types of [
      '',
      'order.lost',
      'order',
      'contact.created,',
      ',',
      'contact.created,,deal.*',
      '*.*',
      'Contact.*',
    ]) {
      expect([types, await refusal(`?types=${types}`)]).toEqual([types, [400, 'invalid_request', 'types']]);
    }
    for (const last of ['-1', 'x', '1.5', '', '1e3', '0 1']) {
      expect([last, await refusal('', last)]).toEqual([last, [400, 'invalid_request', 'Last-Event-ID']]);
    }
    const empty = await account.request('GET', '/v1/events/stream?types=');
    expect(empty.body.error.message).toMatch(/^types\[0\] must be an event kind such as .*, not ""$/);
    expect(await refusal('?after_sequence=x')).toEqual([400, 'invalid_request', 'after_sequence']);
    expect(await refusal('?kinds=*')).toEqual([400, 'invalid_request', 'kinds']);
  });

  it('with HEAD gets only headers', async () => {
    const account = await platform.account();
    const { status, headers, text } = await account.request('HEAD', '/v1/events/stream');
    expect([status, headers.get('content-type'), text]).toEqual([200, 'text/event-stream; charset=utf-8', '']);
  });
});
