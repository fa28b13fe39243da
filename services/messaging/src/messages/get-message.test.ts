import { findDeliveries } from '@customer-platform/contracts/webhooks';
import type { Bus } from '@customer-platform/service-kit';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connectAs, openShop, startHttpProvider } from '../../test/messaging.ts';

let platform: Platform;
/** In place of the service webhooks. */
let webhooks: Bus;
beforeAll(async () => {
  const env = { DATABASE_POOL: '4', BUS_REQUEST_TIMEOUT_MS: '30000' };
  platform = await startPlatform({ services: ['cdp', 'messaging'], env });
  webhooks = await connectAs(platform, 'webhooks');
}, 60_000);
afterAll(async () => {
  await webhooks?.close();
  await platform?.stop();
});

it('a request that waits for webhooks holds no database connection', async () => {
  const provider = await startHttpProvider();
  const { promise: asked, resolve: respond } = Promise.withResolvers<{ deliveries: [] }>();
  let waiting = 0;
  webhooks.handle(findDeliveries, () => {
    waiting++;
    return asked;
  });
  const { account: busy } = await openShop(platform, { sms: provider });
  const other = await platform.account();
  const channels = [{ channel: 'sms' as const, body: 'Hello' }];
  const { id } = await busy.client.messages.send({ body: { to: '+4930901820', channels } });
  await waitFor('the message to be sent', async () => (await busy.client.messages.list({})).data[0]?.status === 'sent');
  const reads = Array.from({ length: 12 }, () => busy.client.messages.get({ params: { message_id: id } }));
  await waitFor('all requests to webhooks', () => waiting >= reads.length);
  expect((await other.client.messages.list({})).data).toEqual([]);
  expect((await busy.client.messages.list({})).data).toMatchObject([{ id }]);
  respond({ deliveries: [] });
  for (const read of await Promise.all(reads)) expect(read).toMatchObject({ id, webhooks: [] });
  await provider.stop();
});
