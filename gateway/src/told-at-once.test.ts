import { getAccountContext } from '@customer-platform/contracts/core';
import { Bus, createLogger } from '@customer-platform/service-kit';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform({ services: [] });
});
afterAll(() => platform?.stop());

it('services are told at once that an account is suspended, whatever its other events cost', async () => {
  const { id } = await platform.account();
  const { NATS_URL: url, BUS_PREFIX: prefix } = platform.env('gateway');
  const bus = await Bus.connect(url!, { prefix: prefix!, service: 'webhooks', log: createLogger('test', 'silent') });
  // A minute's worth, of which the gateway has heard once it replies.
  const told = JSON.stringify({ from: 'webhooks', account: id, cost: 20_000 });
  for (let count = 0; count < 3; count++) bus.announce('event-pace', told);
  await bus.ask(getAccountContext, id, {});
  await bus.close();
  expect((await platform.admin('PATCH', `/admin/accounts/${id}`, { status: 'suspended' })).status).toBe(200);
  await platform.event(id, 'account.updated');
});
