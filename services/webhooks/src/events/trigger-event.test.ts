import { events } from '@customer-platform/contracts';
import { envelopeOf } from '@customer-platform/contracts/core';
import {
  type Platform,
  type Receiver,
  readStream,
  startPlatform,
  startReceiver,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { delivery } from '../../test/webhooks.ts';

let platform: Platform;
let receiver: Receiver;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'] });
  receiver = await startReceiver();
});
afterAll(async () => {
  await Promise.all([platform?.stop(), receiver?.stop()]);
});

it('an example of every kind is recorded and sent to matching endpoints', async () => {
  const account = await platform.account();
  const sandbox = { ...account, client: account.testClient };
  const { id } = await sandbox.client.webhooks.create({ body: { url: receiver.url, events: ['order.*'] } });
  const kinds = events.filter(({ audience }) => audience === 'public');
  expect(kinds.length).toBeGreaterThan(35);
  for (const { kind, data } of kinds) {
    const sent = await sandbox.client.events.trigger({ body: { type: kind as 'order.created' } });
    expect(sent).toMatchObject({ type: kind, account: account.sandboxId, mode: 'test' });
    expect(envelopeOf(kind, data).safeParse(sent).error).toBeUndefined();
  }
  const listed = await sandbox.client.events.list({ query: { after_sequence: 0, limit: 100 } });
  expect(listed.data.map(({ type, sequence }) => [type, sequence])).toEqual(
    kinds.map(({ kind }, index) => [kind, index + 1]),
  );
  const { data } = await sandbox.client.webhooks.deliveries.list({
    params: { endpoint_id: id },
    query: { limit: 100 },
  });
  expect(data.map(({ event }) => event).toSorted()).toEqual(
    kinds
      .map(({ kind }) => kind)
      .filter((kind) => kind.startsWith('order.'))
      .toSorted(),
  );
  await delivery(sandbox, id, ({ event, status }) => event === 'order.created' && status === 'delivered');
  // No other service treats the example as real.
  expect((await sandbox.client.cdp.contacts.list({})).data).toEqual([]);
});

it('given fields replace those of the example, and the result matches the schema of the kind', async () => {
  const { testClient: client, testKey: key, request } = await platform.account();
  const example = await client.events.trigger({ body: { type: 'contact.updated' } });
  const contact = { name: 'Ada', fields: { points: 5 } };
  const data = { contact: { ...contact, unknown: true }, previous: { name: 'Eve' } };
  const sent = await client.events.trigger({ body: { type: 'contact.updated', data } });
  const { contact: exampleContact, previous } = example.data as { contact: object; previous: object };
  expect(sent.data).toEqual({ contact: { ...exampleContact, ...contact }, previous: { ...previous, name: 'Eve' } });
  expect(await client.events.get({ params: { event_id: sent.id } })).toMatchObject({ data: sent.data });
  const wrong: [object, string][] = [
    [{ deal: {} }, 'data.deal is not a field of contact.updated, which has contact, previous'],
    [{ contact: { number: 'one' } }, 'data.contact.number must be'],
    [{ contact: null }, 'data.contact must be'],
  ];
  for (const [given, message] of wrong) {
    const options = { body: { type: 'contact.updated', data: given }, key };
    const { status, body } = await request('POST', '/v1/events/trigger', options);
    expect([status, body.error.field, body.error.message]).toEqual([400, 'data', expect.stringContaining(message)]);
  }
});

it('a stream shows it', async () => {
  const account = await platform.account();
  const stream = await readStream(`${platform.gatewayUrl}/v1/events/stream?types=deal.*`, account.testKey);
  const sent = await account.testClient.events.trigger({ body: { type: 'deal.won' } });
  await waitFor('the event', () => stream.events.length > 0);
  expect(stream.events).toEqual([{ id: '1', event: 'deal.won', data: sent }]);
  stream.close();
});

it('a live account gets 404, and an unknown kind is refused by field', async () => {
  const account = await platform.account();
  await expect(account.client.events.trigger({ body: { type: 'deal.won' } })).rejects.toMatchObject({
    status: 404,
    code: 'not_found',
    message: expect.stringContaining('use a test key'),
  });
  for (const type of ['deal.*', '*', 'deal.lots', 'confirmation.due', 7, undefined]) {
    const options = { body: { type }, key: account.testKey };
    const { status, body } = await account.request('POST', '/v1/events/trigger', options);
    expect([status, body.error.field]).toEqual([400, 'type']);
  }
  expect((await account.testClient.events.list({})).data).toEqual([]);
});
