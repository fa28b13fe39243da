import { inTransaction } from '@customer-platform/service-kit';
import {
  type Platform,
  type Receiver,
  startPlatform,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

let platform: Platform;
let receiver: Receiver;
let account: TestAccount;

/** Processes that poll for due work only once an hour, so all work here starts by a notification or a timer. */
beforeAll(async () => {
  platform = await startPlatform({ env: { DUE_LOOK_SECONDS: '3600', WEBHOOKS_RETRY_SCHEDULE: '0,1s,1s' } });
  receiver = await startReceiver();
  account = await platform.account();
}, 90_000);
afterAll(async () => {
  await receiver?.stop();
  await platform?.stop();
});

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

it('a failed webhook is retried on time', async () => {
  let tries = 0;
  receiver.respond = (_request, response) => response.writeHead(++tries < 3 ? 500 : 204).end();
  const webhook = { url: `${receiver.url}/retried`, events: ['contact.created'] };
  await account.client.webhooks.create({ body: webhook });
  await account.client.cdp.contacts.create({ body: { name: 'Ada', email: 'ada@example.com' } });
  await waitFor('the third attempt', () => tries === 3);
});

it('an audience includes a new member at once', async () => {
  const rules = { match: 'all' as const, conditions: [{ type: 'tag' as const, op: 'has' as const, tag: 'regular' }] };
  const audience = await account.client.cdp.audiences.create({ body: { name: 'Regulars', rules } });
  await account.client.cdp.contacts.create({ body: { name: 'Grace', email: 'grace@example.com', tags: ['regular'] } });
  const size = async () => (await account.client.cdp.audiences.get({ params: { audience_id: audience.id } })).members;
  await waitFor('the contact in it', async () => (await size()) === 1);
});

it('a failed event is retried on time', async () => {
  const sql = platform.database('calendar');
  const waiting = async () => (await sql`select from failed_events where account_id = ${account.id}`).length;
  await sql`alter table contacts rename to contacts_away`;
  await account.client.cdp.contacts.create({ body: { name: 'Edsger', email: 'edsger@example.com' } });
  await waitFor('it to be set aside', async () => (await waiting()) > 0);
  await sql`alter table contacts_away rename to contacts`;
  await waitFor('it to be taken', async () => (await waiting()) === 0);
});

it('a scheduled message goes out, also while another table of its service is locked', async () => {
  // Long enough to be accepted before it is due, even on a slow machine.
  const message = { to: '+4930901820', channels: [{ channel: 'sms' as const, body: 'Hello' }], send_at: inSeconds(8) };
  const { id, status } = await account.testClient.messages.send({ body: message });
  expect(status).toBe('scheduled');
  await inTransaction(platform.database('messaging'), async (tx) => {
    await tx`lock table inbound_messages in access exclusive mode`;
    await waitFor('the message to be sent', async () => {
      await tx`select 1`; // an idle transaction would be ended
      const { status } = await account.testClient.messages.get({ params: { message_id: id } });
      return ['sent', 'delivered'].includes(status);
    });
  });
});
