import { type Platform, pagesOf, startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

let platform: Platform;
let account: TestAccount;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'messaging'] });
  account = await platform.account();
}, 60_000);
afterAll(() => platform.stop());

it('messages with long texts on every channel shorten pages, and the pages contain them all', async () => {
  const channels = (['whatsapp', 'sms'] as const).map((channel) => ({ channel, body: '好'.repeat(4_096) }));
  const [to, send_at] = ['+4930901820', '2190-01-01T00:00:00Z'];
  const { id } = await account.testClient.messages.send({ body: { to, send_at, channels, reference: 'long' } });
  const sql = platform.database('messaging');
  await sql`
      with made as (
        insert into messages (account_id, reference, status, given_to, purpose, steps, is_simulated, send_at, created_at)
        select account_id, reference, 'cancelled', given_to, purpose, steps, is_simulated, send_at, created_at
        from messages cross join generate_series(1, 99) where account_id = ${account.sandboxId} and id = ${id} returning account_id, id
      )
      insert into attempts (account_id, message_id, number, channel, status)
      select account_id, id, 1, 'whatsapp', 'skipped' from made`;
  for (const more of [{}, { q: 'lon' }]) {
    const { data, sizes } = await pagesOf((query) =>
      account.testClient.messages.list({ query: { ...query, ...more } }),
    );
    expect([data.length, new Set(data.map((one) => one.id)).size, data.at(-1)!.id]).toEqual([100, 100, id]);
    expect(sizes.length).toBe(2);
  }
});
