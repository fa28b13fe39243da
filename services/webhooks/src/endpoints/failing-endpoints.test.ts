/**
 * Telemetry starts once in a process.
 * @jest-environment node
 */
import { freePort } from '@customer-platform/deploy/local-port';
import { type Platform, type Receiver, startPlatform, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

let platform: Platform;
let receiver: Receiver;
let metricsUrl: string;
const env = { OTEL_METRICS_EXPORTER: 'prometheus', OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1' };

beforeAll(async () => {
  const port = String(await freePort());
  Object.assign(process.env, env, { OTEL_EXPORTER_PROMETHEUS_PORT: port });
  metricsUrl = `http://127.0.0.1:${port}/metrics`;
  platform = await startPlatform({ services: ['webhooks'] });
  receiver = await startReceiver();
});
afterAll(async () => {
  await platform?.stop();
  await receiver?.stop();
  for (const name of [...Object.keys(env), 'OTEL_EXPORTER_PROMETHEUS_PORT']) delete process.env[name];
});

async function gauges(): Promise<{ failing: number; longest: number }> {
  const lines = (await (await fetch(metricsUrl)).text()).split('\n');
  const valueOfGauge = (name: string) =>
    Number(
      lines
        .find((line) => line.startsWith(`${name}{`))
        ?.split(' ')
        .at(-1),
    );
  return {
    failing: valueOfGauge('webhooks_endpoints_failing'),
    longest: valueOfGauge('webhooks_endpoints_failing_longest'),
  };
}

it('says how many active endpoints fail, and for how long the first of them has', async () => {
  const { client } = await platform.account();
  expect(await gauges()).toEqual({ failing: 0, longest: 0 });
  receiver.respond = (_request, response) => response.writeHead(500).end();
  const ids = [];
  for (let index = 0; index < 2; index++) {
    const { id } = await client.createEndpoint({ body: { url: receiver.url, events: ['*'] } });
    ids.push(id);
    await client.testEndpoint({ params: { endpoint_id: id } });
  }
  await waitFor('both to fail', async () => (await gauges()).failing === 2);
  platform.clock.advance(3_600_000);
  expect((await gauges()).longest).toBeGreaterThanOrEqual(3_600);
  await client.updateEndpoint({ params: { endpoint_id: ids[0]! }, body: { active: false } });
  expect((await gauges()).failing).toBe(1);
  receiver.respond = (_request, response) => response.writeHead(204).end();
  await client.testEndpoint({ params: { endpoint_id: ids[1]! } });
  await waitFor('it to end', async () => (await gauges()).failing === 0);
  expect(await gauges()).toEqual({ failing: 0, longest: 0 });
});
