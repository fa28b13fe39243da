import { eachOf } from '@customer-platform/client';
import { startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addAudience, keepChanged, refusal, settle, takeChanged } from '../../test/cdp.ts';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
await keepChanged(sql);
afterAll(() => platform.stop());

let account: TestAccount;
let params: { contact_id: string };
beforeEach(async () => {
  platform.clock.set('2026-11-20T08:00:00Z');
  account = await platform.account();
  params = { contact_id: (await account.client.cdp.contacts.create({ body: { name: 'Ada' } })).id };
});

const email = { channel: 'email', purpose: 'marketing' } as const;
const record = (state: 'granted' | 'withdrawn', at?: string) =>
  account.client.cdp.contacts.consents.record({ params, body: { ...email, state, ...(at ? { at } : {}) } });

/** Returns the consents in effect of the contact, as `channel purpose state`. */
async function counting(): Promise<string[]> {
  const rows = await sql`
    select channel, purpose, state from consent_states
    where account_id = ${account.id} and contact_id = ${params.contact_id} order by channel, purpose`;
  return rows.map(({ channel, purpose, state }) => `${channel} ${purpose} ${state}`);
}

describe('a consent', () => {
  it('is recorded with its time and source; the time defaults to now', async () => {
    const body = { ...email, state: 'granted', source: 'shop form', at: '2026-11-01T10:00:00+01:00' } as const;
    const made = await account.client.cdp.contacts.consents.record({ params, body });
    expect(made).toEqual({ ...body, id: made.id, created_at: made.created_at });
    const later = await record('withdrawn');
    expect(later).toMatchObject({ state: 'withdrawn', source: '', at: later.created_at });
    expect((await account.client.cdp.contacts.consents.list({ params })).data).toEqual([later, made]);
  });

  it('takes effect by its own time, not by when it was recorded', async () => {
    await record('granted', '2026-11-10T00:00:00Z');
    await record('withdrawn', '2026-11-09T00:00:00Z');
    expect(await counting()).toEqual(['email marketing granted']);
    await record('withdrawn', '2026-11-11T00:00:00Z');
    expect(await counting()).toEqual(['email marketing withdrawn']);
  });

  it.each([
    ['granted', 'withdrawn'],
    ['withdrawn', 'granted'],
  ] as const)('%s and %s at the same instant count as withdrawn', async (first, second) => {
    await record(first, '2026-11-10T00:00:00Z');
    await record(second, '2026-11-10T01:00:00+01:00');
    expect(await counting()).toEqual(['email marketing withdrawn']);
  });

  it('applies to its channel and purpose only', async () => {
    await record('granted');
    await account.client.cdp.contacts.consents.record({
      params,
      body: { ...email, channel: 'sms', state: 'withdrawn' },
    });
    await account.client.cdp.contacts.consents.record({
      params,
      body: { ...email, purpose: 'news', state: 'withdrawn' },
    });
    expect(await counting()).toEqual(['email marketing granted', 'email news withdrawn', 'sms marketing withdrawn']);
  });

  it('that is dated ahead counts as given now: a later withdrawal takes effect, and so does a grant after it', async () => {
    const ahead = await record('granted', '2026-11-20T08:04:00Z');
    expect(ahead.at).toBe(ahead.created_at);
    platform.clock.advance(1_000);
    await record('withdrawn');
    expect(await counting()).toEqual(['email marketing withdrawn']);
    await record('withdrawn', '2026-11-20T08:05:00Z');
    platform.clock.advance(1_000);
    await record('granted');
    expect(await counting()).toEqual(['email marketing granted']);
  });

  it('that another process recorded with a fast clock is overruled by a withdrawal', async () => {
    await record('granted');
    await sql`update consent_states set at = '2026-11-20T08:04:00Z' where account_id = ${account.id}`;
    await record('withdrawn');
    expect(await counting()).toEqual(['email marketing withdrawn']);
  });

  it('may be dated at most 5 minutes ahead', async () => {
    await record('granted', new Date(platform.clock.now().getTime() + 299_000).toISOString());
    // Half a minute more than allowed: the time at which the service reads it decides.
    const tooFar = record('granted', new Date(platform.clock.now().getTime() + 330_000).toISOString());
    await expect(tooFar).rejects.toMatchObject(refusal(400, 'at'));
    expect((await account.client.cdp.contacts.consents.list({ params })).data).toHaveLength(1);
  });

  it.each([
    ['channel', { channel: 'fax' }],
    ['purpose', { purpose: '' }],
    ['state', { state: 'maybe' }],
    ['source', { source: 'x'.repeat(201) }],
    ['at', { at: '2026-11-01T10:00:00' }],
  ])('is rejected with a wrong %s', async (field, wrong) => {
    const path = `/v1/cdp/contacts/${params.contact_id}/consents`;
    const response = await account.request('POST', path, { body: { ...email, state: 'granted', ...wrong } });
    expect([response.status, response.body.error.field]).toEqual([400, field]);
  });

  it('queues the contact as changed if the account has audiences', async () => {
    await record('granted');
    await settle(sql, account.id, 1);
    expect(await takeChanged(sql, account.id)).toEqual([]);
    await addAudience(sql, account.id);
    await record('withdrawn');
    expect(await takeChanged(sql, account.id)).toEqual([params.contact_id]);
  });
});

describe('the consents of a contact', () => {
  it('are listed newest first, and reject a cursor of another contact', async () => {
    const made: string[] = [];
    for (let index = 0; index < 5; index++) made.unshift((await record('granted')).id);
    const seen: string[] = [];
    for await (const { id } of eachOf((page) =>
      account.client.cdp.contacts.consents.list({ params, query: { limit: 2, ...page } }),
    )) {
      seen.push(id);
    }
    expect(seen).toEqual(made);
    const other = { contact_id: (await account.client.cdp.contacts.create({ body: { name: 'Ada' } })).id };
    for (const cursor of [made[0]!, 'x', '']) {
      await expect(
        account.client.cdp.contacts.consents.list({ params: other, query: { starting_after: cursor } }),
      ).rejects.toMatchObject(refusal(400, 'starting_after'));
    }
  });

  it('are deleted with the contact, and invisible to other accounts', async () => {
    await record('granted');
    const stranger = await platform.account();
    await expect(stranger.client.cdp.contacts.consents.list({ params })).rejects.toMatchObject(refusal(404));
    await account.client.cdp.contacts.delete({ params });
    await expect(account.client.cdp.contacts.consents.list({ params })).rejects.toMatchObject(refusal(404));
    await expect(record('granted')).rejects.toMatchObject(refusal(404));
    expect(await sql`select 1 from consents where account_id = ${account.id}`).toHaveLength(0);
    expect(await counting()).toEqual([]);
  });
});
