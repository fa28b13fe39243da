import { type Platform, type Receiver, startPlatform, startReceiver } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { delivery, register } from '../../test/webhooks.ts';

let platform: Platform;
let receiver: Receiver;

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'], env: { WEBHOOKS_TIMEOUT_MS: '500' } });
  receiver = await startReceiver();
});
afterAll(async () => {
  await Promise.all([platform.stop(), receiver.stop()]);
});

it('an attempt without a response in time is a timeout, and the delivery waits for the next one', async () => {
  const account = await platform.account();
  receiver.respond = () => undefined;
  const endpoint = await register(account, receiver.url);
  await account.client.webhooks.test({ params: { endpoint_id: endpoint.id } });
  const failed = await delivery(account, endpoint.id, (one) => one.tries.length === 1);
  expect(failed).toMatchObject({ status: 'pending', tries: [{ status: null, error: 'timeout' }] });
});
