/**
 * Telemetry starts once in a process.
 * @jest-environment node
 */
import { type ExportedMetrics, exportMetrics, type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, it } from '@jest/globals';

let platform: Platform;
let metrics: ExportedMetrics;

beforeAll(async () => {
  metrics = await exportMetrics();
  platform = await startPlatform({ services: ['webhooks'] });
}, 60_000);
afterAll(async () => {
  await platform?.stop();
  metrics?.stop();
});

/** Waits for the gauges to say how many clocks are on their way, and for how many seconds the first has been: up to twice as many. */
async function expectGauges(advancing: number, longest: number): Promise<void> {
  await waitFor(`the gauges to say ${advancing} and ${longest}`, async () => {
    const { gateway_clocks_advancing: count, gateway_clocks_advancing_longest: since } = await metrics.valuesOf([
      'gateway_clocks_advancing',
      'gateway_clocks_advancing_longest',
    ]);
    return count === advancing && since >= longest && since <= longest * 2;
  });
}

it('gauges say how many clocks are on their way, and for how long the first of them has been', async () => {
  const { sandboxId } = await platform.account();
  await expectGauges(0, 0);
  const sql = platform.database('gateway' as never);
  // The lease of a gateway that keeps it.
  await sql`
    insert into clock_advances (account_id, target, leased_until, began_at)
    values (${sandboxId}, now() + interval '1 day', 'infinity', now() - interval '1 hour')`;
  await expectGauges(1, 3_600);
  await sql`update clock_advances set leased_until = null where account_id = ${sandboxId}`;
  await expectGauges(0, 0);
});
