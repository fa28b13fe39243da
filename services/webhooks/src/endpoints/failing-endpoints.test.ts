/**
 * Telemetry starts once in a process.
 * @jest-environment node
 */
import {
  type ExportedMetrics,
  exportMetrics,
  type Platform,
  type Receiver,
  startPlatform,
  startReceiver,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, it } from '@jest/globals';

let platform: Platform;
let receiver: Receiver;
let metrics: ExportedMetrics;

beforeAll(async () => {
  metrics = await exportMetrics();
  platform = await startPlatform({ services: ['webhooks'] });
  receiver = await startReceiver();
});
afterAll(async () => {
  await platform?.stop();
  await receiver?.stop();
  metrics?.stop();
});

type Said = { failing: number; longest: number };

/** Waits for the gauges to match. A scrape may return the values of the previous one. */
async function expectGauges(isSaid: (said: Said) => boolean): Promise<void> {
  let said: Said | undefined;
  const isSaidNow = async () => {
    said = await gauges();
    return isSaid(said);
  };
  await waitFor('the gauges', isSaidNow).catch((cause) => {
    throw new Error(`the gauges stayed ${JSON.stringify(said)}`, { cause });
  });
}

async function gauges(): Promise<Said> {
  const values = await metrics.valuesOf(['webhooks_endpoints_failing', 'webhooks_endpoints_failing_longest']);
  return { failing: values.webhooks_endpoints_failing, longest: values.webhooks_endpoints_failing_longest };
}

const isNone = ({ failing, longest }: Said) => failing === 0 && longest === 0;

it('reports how many active endpoints fail, and the longest time of failing', async () => {
  const { client } = await platform.account();
  await expectGauges(isNone);
  receiver.respond = (_request, response) => response.writeHead(500).end();
  const ids = [];
  for (let index = 0; index < 2; index++) {
    const { id } = await client.webhooks.create({ body: { url: receiver.url, events: ['*'] } });
    ids.push(id);
    await client.webhooks.test({ params: { endpoint_id: id } });
  }
  await expectGauges(({ failing }) => failing === 2);
  platform.clock.advance(3_600_000);
  await expectGauges(({ longest }) => longest >= 3_600);
  await client.webhooks.update({ params: { endpoint_id: ids[0]! }, body: { active: false } });
  await expectGauges(({ failing }) => failing === 1);
  receiver.respond = (_request, response) => response.writeHead(204).end();
  await client.webhooks.test({ params: { endpoint_id: ids[1]! } });
  await expectGauges(isNone);
});
