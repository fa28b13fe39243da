import { inTransaction } from '@customer-platform/service-kit';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type HttpProvider, openShop, startHttpProvider } from '../../test/messaging.ts';

let platform: Platform;
let sms: HttpProvider;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'messaging'] });
  sms = await startHttpProvider();
}, 60_000);
afterAll(async () => {
  await platform.stop();
  await sms.stop();
});

const channels = [{ channel: 'sms' as const, body: 'Hello' }];
const inMinutes = (minutes: number) => new Date(platform.clock.now().getTime() + minutes * 60_000).toISOString();

it("requests of one account that take long do not hold up others' messages", async () => {
  const sql = platform.database('messaging');
  const [busy, ...shops] = await Promise.all(Array.from({ length: 4 }, () => openShop(platform, { sms })));
  const schedule = ({ account }: (typeof shops)[number], minutes: number) =>
    account.client.sendMessage({ body: { to: '+4930901820', channels, send_at: inMinutes(minutes) } });
  const { id } = await schedule(busy!, 60);
  for (const shop of shops) await Promise.all([1, 2, 3, 4, 5, 6].map(() => schedule(shop, 1)));
  const held: (() => void)[] = [];
  sms.respond = (_, response) => void held.push(() => response.writeHead(200).end('{"id":"p"}'));

  const { cancelled } = await inTransaction(sql, async (tx) => {
    await tx`select from messages where id = ${id} for update`;
    const requests = Array.from({ length: 8 }, () =>
      busy!.account.client.cancelMessage({ params: { message_id: id } }),
    );
    await waitFor('all to wait for the row', async () => {
      const waiting = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return waiting.count === requests.length;
    });
    platform.clock.advance(60_000);
    await waitFor('all to be under way', () => held.length === 18);
    return { cancelled: Promise.all(requests) };
  });
  for (const { status } of await cancelled) expect(status).toBe('cancelled');
  // Tries that one claim began are of one transaction.
  const claims = await sql<{ tries: number }[]>`
    select count(*) as tries from attempts where running_since is not null group by xmin::text order by tries desc`;
  expect(claims[0]!.tries).toBeGreaterThan(8);
  for (const respond of held) respond();
});
