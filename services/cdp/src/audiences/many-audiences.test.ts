import type { AccountContext } from '@customer-platform/contracts/core';
import { inTransaction, RoundAbandoned, type WorkCall } from '@customer-platform/service-kit';
import { startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, expect, it } from '@jest/globals';
import { audiencesOf, tagged } from '../../test/audiences.ts';
import { lockAccount } from '../accounts/claim-account.ts';
import { refreshChanged } from './refresh-changed.ts';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
afterAll(() => platform.stop());

let account: TestAccount;
let other: TestAccount;
beforeEach(async () => {
  [account, other] = await Promise.all([platform.account(), platform.account()]);
});

it("a customer's audiences, live and sandbox, are refreshed one after another, and other customers' concurrently", async () => {
  const ofOther = audiencesOf(platform, other);
  const { testClient } = account;
  const { id } = await inTransaction(sql, async (tx) => {
    expect(await lockAccount(tx, 'audiences', account.id)).toBe(true);
    const audience = await testClient.cdp.audiences.create({ body: { name: 'Sandbox', rules: tagged('a') } });
    // Each is due later than the sandbox's audiences.
    for (const name of ['one', 'two', 'three']) await ofOther.create(tagged('a'), name);
    expect(await testClient.cdp.audiences.get({ params: { audience_id: audience.id } })).toMatchObject({
      status: 'building',
    });
    return audience;
  });
  await platform.event(account.sandboxId, 'audience.ready', (data) => data.audience.id === id);
});

it('many unpublished events of an account delay its own refreshes only', async () => {
  const ofOther = audiencesOf(platform, other);
  await sql`
    insert into outbox (account_id, id, kind, audience, envelope, due_at)
    select ${account.id}, uuidv7(), 'contact.updated', 'public', '{}', now() + interval '1 day' from generate_series(1, 50001)`;
  const { id } = await account.client.cdp.audiences.create({ body: { name: 'Tea', rules: tagged('a') } });
  // It waits without counting as stuck, for however long.
  const [before] =
    await sql`update audiences set building_since = now() - interval '14 minutes' where id = ${id} returning building_since`;
  await waitFor('building_since to be reset', async () => {
    const [now] = await sql`select building_since from audiences where id = ${id}`;
    return now!.building_since > before!.building_since;
  });
  // Each is due later.
  for (const name of ['one', 'two', 'three']) await ofOther.create(tagged('a'), name);
  const ofAccount = audiencesOf(platform, account);
  expect(await ofAccount.get(id)).toMatchObject({ status: 'building' });
  await sql`delete from outbox where account_id = ${account.id}`;
  await ofAccount.ready(id);
});

it('a round that exceeds its time is left to other workers and writes nothing', async () => {
  const audiences = audiencesOf(platform, account);
  const [{ id }, contact] = [await audiences.create(tagged('a')), await audiences.contact()];
  const changed = () => sql`select from changed_contacts where account_id = ${account.id}`;
  await waitFor('the contact to be evaluated', async () => (await changed()).length === 0);
  const round = inTransaction(sql, async (tx) => {
    await tx`insert into changed_contacts (account_id, contact_id) values (${account.id}, ${contact})`;
    const call = { tx, now: platform.clock.now() } as WorkCall<unknown>;
    await refreshChanged(call, { id: account.id } as AccountContext, { contacts: 10, ms: 0 });
  });
  await expect(round).rejects.toBeInstanceOf(RoundAbandoned);
  expect([(await changed()).length, (await audiences.get(id)).members]).toEqual([0, 0]);
});
