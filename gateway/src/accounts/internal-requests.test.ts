import { findMembers } from '@customer-platform/contracts/accounts';
import { Bus, createLogger } from '@customer-platform/service-kit';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

let platform: Platform;
let bus: Bus;
beforeAll(async () => {
  platform = await startPlatform({ services: [] });
  const { NATS_URL, BUS_PREFIX } = platform.env('agents');
  bus = await Bus.connect(NATS_URL!, { prefix: BUS_PREFIX!, service: 'agents', log: createLogger('test', 'silent') });
}, 60_000);
afterAll(async () => {
  await bus?.close();
  await platform?.stop();
});

it('members are found by their addresses, former ones too, and those of other accounts are not', async () => {
  const [account, other] = [await platform.account(), await platform.account()];
  const path = (id: string) => `/admin/accounts/${id}/members`;
  const add = async (id: string, email: string) =>
    (await platform.admin('POST', path(id), { name: 'Ada', email })).body as { id: string };
  const [stays, leaves] = [await add(account.id, 'ada@example.com'), await add(account.id, 'bo@example.com')];
  await add(other.id, 'far@example.com');
  await platform.admin('DELETE', `${path(account.id)}/${leaves.id}`);
  const emails = ['far@example.com', 'bo@example.com', 'nobody@example.com', 'ada@example.com'];
  const { members } = await bus.ask(findMembers, account.id, { emails });
  expect(members).toHaveLength(2);
  expect(members).toEqual(expect.arrayContaining([stays, { ...leaves, active: false }]));
  expect(await bus.ask(findMembers, account.id, { emails: [] })).toEqual({ members: [] });
});
