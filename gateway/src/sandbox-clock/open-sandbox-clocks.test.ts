/**
 * Telemetry starts once in a process.
 * @jest-environment node
 */
import { freePort } from '@customer-platform/deploy/local-port';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, it } from '@jest/globals';

let platform: Platform;
let metricsUrl: string;
const env = { OTEL_METRICS_EXPORTER: 'prometheus', OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1' };

beforeAll(async () => {
  const port = String(await freePort());
  // The SDK reads its settings from the process.
  Object.assign(process.env, env, { OTEL_EXPORTER_PROMETHEUS_PORT: port });
  metricsUrl = `http://127.0.0.1:${port}/metrics`;
  platform = await startPlatform({ services: ['webhooks'] });
}, 60_000);
afterAll(async () => {
  await platform?.stop();
  for (const name of [...Object.keys(env), 'OTEL_EXPORTER_PROMETHEUS_PORT']) delete process.env[name];
});

/** Waits for the gauges to say how many clocks are on their way, and for how many seconds the first has been: up to twice as many. */
async function expectGauges(advancing: number, longest: number): Promise<void> {
  const valueIn = (lines: string[], name: string) =>
    Number(
      lines
        .find((line) => line.startsWith(`${name}{`))
        ?.split(' ')
        .at(-1),
    );
  await waitFor(`the gauges to say ${advancing} and ${longest}`, async () => {
    const lines = (await (await fetch(metricsUrl)).text()).split('\n');
    const since = valueIn(lines, 'gateway_clocks_advancing_longest');
    return valueIn(lines, 'gateway_clocks_advancing') === advancing && since >= longest && since <= longest * 2;
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
