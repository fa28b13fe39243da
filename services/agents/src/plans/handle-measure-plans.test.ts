import { measurePlans } from '@customer-platform/contracts/agents';
import { busOf, startPlatform } from '@customer-platform/testkit';
import { afterAll, expect, it } from '@jest/globals';
import { openAgency } from '../../test/plans.ts';

const platform = await startPlatform({ services: ['cdp', 'crm', 'agents'] });
const bus = await busOf(platform, 'gateway');
const sql = platform.database('agents');
afterAll(async () => {
  await bus.close();
  await platform.stop();
});

const measure = (account: string) => bus.ask(measurePlans, account, { account });

it("counts an account's plans that failed in the last day, and returns the latest error", async () => {
  const agency = await openAgency(platform, sql);
  expect(await measure(agency.id)).toEqual({ failed: 0, last_error: null });
  // A step for messaging, which is not running here, would keep waiting. An unknown stage fails the step at once.
  const steps = [{ action: 'move_stage' as const, params: { stage: 999_999_999 } }];
  for (let count = 0; count < 2; count++) {
    const { id } = await agency.plan({ mode: 'none', steps });
    await agency.until(id, 'failed');
  }
  await agency.plan({ mode: 'none', steps: ['add_note'] });
  const measured = await measure(agency.id);
  expect(measured).toEqual({ failed: 2, last_error: expect.stringMatching(/^Step 1: /) });
  expect(await measure(agency.account.id)).toEqual({ failed: 0, last_error: null });
  platform.clock.advance(25 * 3_600_000);
  expect(await measure(agency.id)).toEqual({ failed: 0, last_error: null });
});
