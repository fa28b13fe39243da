import { randomUUID } from 'node:crypto';
import { getConversation } from '@customer-platform/contracts/messaging';
import { type Bus, inTransaction } from '@customer-platform/service-kit';
import { mergeContacts, type Platform, rowsRead, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connectAs, type HttpProvider, openShop, startHttpProvider } from '../../test/messaging.ts';
import { selectConversation } from './conversation.sql.ts';

let platform: Platform;
let provider: HttpProvider;
let bus: Bus;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'messaging'] });
  provider = await startHttpProvider();
  bus = await connectAs(platform, 'agents');
}, 60_000);
afterAll(async () => {
  await bus.close();
  await provider.stop();
  await platform.stop();
});

const phone = '+4930901820';

/** Opens an account that exchanges SMS with its contact Casey. */
async function openTalk() {
  const { account, hook } = await openShop(platform, { sms: provider });
  const contact = (await account.client.cdp.contacts.create({ body: { name: 'Casey', phone } })).id;
  const talk = async (limit = 20, id = contact) => {
    const { messages } = await bus.ask(getConversation, account.id, { contact: id, limit });
    return messages.map(({ direction, channel, body }) => `${direction} ${channel} ${body}`);
  };
  const hear = async (body: string, told = `in sms ${body}`) => {
    const at = platform.clock.now().toISOString();
    await hook('sms', { type: 'inbound', from: phone, body, id: randomUUID(), at });
    await waitFor('the message to be listed', async () => (await talk()).some((line) => line === told));
  };
  const say = (body: string, more: object = {}) =>
    account.client.messages.send({ body: { contact, channels: [{ channel: 'sms', body }], ...more } });
  return { account, contact, talk, hear, say };
}

describe('a conversation', () => {
  it('contains the last messages of a contact among its newest thousand', async () => {
    const sql = platform.database('messaging');
    const [account, contact] = [randomUUID(), randomUUID()];
    const add = (status: string, count: number) => sql`
      insert into messages (account_id, status, contact_id, purpose, steps, is_simulated, created_at)
      select ${account}, ${status}, ${contact}, 'service', '[{"channel": "sms", "body": "Hello"}]', true, now() from generate_series(1, ${count}::int)`;
    const found = async () => (await selectConversation(sql, account, contact, 20)).length;
    const readFor = (count: number) =>
      inTransaction(sql, async (tx) => {
        await tx.unsafe('analyze messages');
        const before = await rowsRead(tx, 'messages');
        expect(await selectConversation(tx, account, contact, 20)).toHaveLength(count);
        return (await rowsRead(tx, 'messages')) - before;
      });
    await add('sent', 10_000);
    expect(await readFor(20)).toBeLessThan(100);
    await add('failed', 10_000);
    expect(await readFor(0)).toBeLessThan(1_100);
    await add('sent', 1);
    await add('failed', 999);
    expect(await found()).toBe(1);
    await add('failed', 1);
    expect(await found()).toBe(0);
  });

  it('contains inbound and outbound messages, oldest first, and only the last if it is long', async () => {
    const { account, contact, talk, hear, say } = await openTalk();
    await hear('Are you open?');
    platform.clock.advance(1_000);
    const { id: message_id } = await say('Until five');
    const isSent = async () => (await account.client.messages.get({ params: { message_id } })).status === 'sent';
    await waitFor('the message to be sent', isSent);
    platform.clock.advance(1_000);
    await hear('Thanks');
    expect(await talk()).toEqual(['in sms Are you open?', 'out sms Until five', 'in sms Thanks']);
    expect(await talk(2)).toEqual(['out sms Until five', 'in sms Thanks']);
    // And the channels on which to continue.
    expect((await bus.ask(getConversation, account.id, { contact, limit: 1 })).channels).toEqual(['sms']);
  });

  it('truncates long texts', async () => {
    const { talk, hear } = await openTalk();
    const long = '\u0001'.repeat(60_000);
    for (const place of [1, 2, 3]) await hear(`${place}${long}`, `in sms ${place}${long.slice(0, 1_999)}`);
    expect((await talk()).map((line) => line.length)).toEqual([2_007, 2_007, 2_007]);
  });

  it('excludes unsent messages and those of other contacts', async () => {
    const { account, talk, say } = await openTalk();
    await say('Later', { send_at: new Date(platform.clock.now().getTime() + 3_600_000).toISOString() });
    const other = (await account.client.cdp.contacts.create({ body: { name: 'Robin', phone: '+4930901821' } })).id;
    await say('To Robin', { contact: other });
    await say('To Casey');
    expect(await talk()).toEqual(['out sms To Casey']);
    expect(await talk(20, randomUUID())).toEqual([]);
  });

  it('of a merged contact contains both conversations until the merge is undone', async () => {
    const { account, contact, talk, hear, say } = await openTalk();
    await hear('Hello');
    await say('Hello Casey');
    const keep = (await account.client.cdp.contacts.create({ body: { name: 'Keep' } })).id;
    const params = await mergeContacts(account.client, { keep, merged: contact });
    await waitFor('the merge', async () => (await talk(20, keep)).length === 2);
    expect(await talk(20, contact)).toEqual(await talk(20, keep));
    await hear('Since');
    await say('Since, Casey');
    await account.client.cdp.duplicates.undo({ params, body: {} });
    await waitFor('the unmerge', async () => (await talk(20, contact)).length === 2);
    expect(await talk(20, contact)).toEqual(['in sms Hello', 'out sms Hello Casey']);
    expect(await talk(20, keep)).toEqual(['in sms Since', 'out sms Since, Casey']);
    const of = async (id: string) => (await account.client.messages.list({ query: { contact: id } })).data.length;
    expect([await of(contact), await of(keep)]).toEqual([1, 1]);
  });
});
