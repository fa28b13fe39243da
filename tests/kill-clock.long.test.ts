import { type ProcessPlatform, startProcessPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { killAndSeeBack } from './processes.ts';
import { openYear, type Year } from './year.ts';

/** Events at the beginning, middle and end of the year. After each a process is killed. */
const killedAfter = [
  { type: 'plan.expired', name: 'webhooks' },
  { type: 'audience.left', name: 'gateway' },
  { type: 'message.sent', name: 'messaging' },
] as const;

let platform: ProcessPlatform;
let year: Year;
beforeAll(async () => {
  platform = await startProcessPlatform();
  year = await openYear(platform);
}, 180_000);
afterAll(async () => {
  await year?.stop();
  await platform?.stop();
}, 60_000);

it('plays the whole year correctly whatever process is killed', async () => {
  await year.begin();
  for (const { type, name } of killedAfter) {
    await waitFor(`${type} to be told`, () => year.told().some((event) => event.type === type), 120_000);
    await killAndSeeBack(platform, name);
  }
  expect((await year.client.sandbox.clock.get()).status).toBe('advancing');
  await year.ready();
  await year.expectPlayed();
}, 1_200_000);
