import { randomUUID } from 'node:crypto';
import { getContactReach } from '@customer-platform/contracts/cdp';
import { startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connectMessages, mergeInto } from '../../test/cdp.ts';

let account: TestAccount;

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
const bus = await connectMessages(platform);
afterAll(async () => {
  await bus.close();
  await platform.stop();
});
beforeEach(async () => {
  account = await platform.account();
});

type Channel = 'whatsapp' | 'sms' | 'email';
const add = async (body: object): Promise<string> => (await account.client.createContact({ body })).id;
const reach = (contact: string, channel: Channel = 'sms', purpose = 'news', accountId = account.id) =>
  bus.ask(getContactReach, accountId, { contact, channel, purpose });
const say = (contact: string, [channel, purpose]: [Channel, string], state: 'granted' | 'withdrawn', at?: string) =>
  account.client.recordConsent({
    params: { contact_id: contact },
    body: { channel, purpose, state, ...(at === undefined ? {} : { at }) },
  });
const nowhere = { address: null, consent: null };

describe('where a contact is reached', () => {
  it('is its phone by sms and whatsapp, its email by email', async () => {
    const id = await add({ phone: '030 901820', email: 'Ada@Example.com' });
    expect(await reach(id, 'sms')).toEqual({ address: '+4930901820', consent: null });
    expect(await reach(id, 'whatsapp')).toEqual({ address: '+4930901820', consent: null });
    expect(await reach(id, 'email')).toEqual({ address: 'ada@example.com', consent: null });
    expect(await reach(id.toUpperCase(), 'email')).toEqual({ address: 'ada@example.com', consent: null });
  });

  it('is null where it has no such address, whatever it said', async () => {
    const [phone, email] = [await add({ phone: '030 901820' }), await add({ email: 'bo@example.com' })];
    await say(phone, ['email', 'news'], 'granted');
    expect(await reach(phone, 'email')).toEqual({ address: null, consent: 'granted' });
    expect(await reach(email, 'sms')).toEqual(nowhere);
    expect(await reach(email, 'whatsapp')).toEqual(nowhere);
  });

  it('comes with what it last said of that purpose on that channel, and of no other', async () => {
    const id = await add({ phone: '030 901820', email: 'ada@example.com' });
    await say(id, ['sms', 'news'], 'granted', '2026-01-02T00:00:00Z');
    await say(id, ['sms', 'news'], 'withdrawn', '2026-01-01T00:00:00Z');
    await say(id, ['email', 'offers'], 'withdrawn');
    expect((await reach(id, 'sms', 'news')).consent).toBe('granted');
    expect((await reach(id, 'sms', 'offers')).consent).toBeNull();
    expect((await reach(id, 'whatsapp', 'news')).consent).toBeNull();
    expect((await reach(id, 'email', 'news')).consent).toBeNull();
    expect((await reach(id, 'email', 'offers')).consent).toBe('withdrawn');
    await say(id, ['sms', 'news'], 'withdrawn');
    expect((await reach(id, 'sms', 'news')).consent).toBe('withdrawn');
  });

  it("is the survivor's of a merged contact, and so is the consent", async () => {
    const merged = await add({ external_id: 'x', phone: '030 901820', email: 'old@example.com' });
    const kept = await add({ external_id: 'x', email: 'new@example.com' });
    await say(merged, ['email', 'news'], 'withdrawn');
    await say(kept, ['email', 'news'], 'granted');
    await say(kept, ['sms', 'news'], 'granted');
    await mergeInto({ platform, sql, account }, kept, merged);
    for (const id of [merged, kept]) {
      expect(await reach(id, 'email')).toEqual({ address: 'new@example.com', consent: 'withdrawn' });
      expect(await reach(id, 'sms')).toEqual({ address: '+4930901820', consent: 'granted' });
    }
    await account.client.deleteContact({ params: { contact_id: kept } });
    for (const id of [merged, kept]) expect(await reach(id, 'email')).toEqual(nowhere);
  });

  it('is nowhere for a contact that is unknown, deleted or of another account', async () => {
    const id = await add({ phone: '030 901820' });
    await say(id, ['sms', 'news'], 'granted');
    expect(await reach(randomUUID())).toEqual(nowhere);
    expect(await reach(id, 'sms', 'news', (await platform.account()).id)).toEqual(nowhere);
    expect(await reach(id)).toEqual({ address: '+4930901820', consent: 'granted' });
    await account.client.deleteContact({ params: { contact_id: id } });
    expect(await reach(id)).toEqual(nowhere);
  });
});
