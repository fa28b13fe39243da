import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { services } from '@customer-platform/deploy/deployables';
import type { ProcessPlatform } from '@customer-platform/testkit';
import { atMost, type Bench, exactly, type Figure, median, told } from './figures.ts';
import { closedLoop, requestBytes } from './load.ts';
import { startPlatform } from './platform.ts';
import { cpuSecondsWithChildren, untilIdle } from './process-usage.ts';

const rounds = 4;
const writes = 2_000;
const connections = 16;
const idleMs = 10_000;
const servers = ['postgres', 'nats'] as const;
const nowhere = 'nats://127.0.0.1:1';

/**
 * Measures what cells cost: the same writes to the cell main and to another, in turns, through one gateway. One machine cannot show what two of
 * them would serve; that follows from how much of a write is done in its cell, which nothing else shares.
 */
export const cellsBench: Bench = {
  name: 'cells',
  summary: 'writes to the cell main and to another, through one gateway',
  async measure() {
    const directory = mkdtempSync(join(tmpdir(), 'cells-'));
    const file = join(directory, 'cells.json');
    const common = { CONTEXT_SECRET: randomBytes(32).toString('hex') };
    const platforms: ProcessPlatform[] = [];
    const start = async (ofGateway: Record<string, string>) => {
      const platform = await startPlatform((name) => ({ ...common, ...(name === 'gateway' ? ofGateway : {}) }));
      platforms.push(platform);
      return platform;
    };
    try {
      // Its own gateway is to know nothing of the cell: services would ask it for accounts.
      const east = await start({ NATS_URL: nowhere });
      writeFileSync(file, JSON.stringify({ east: describe(east) }));
      const main = await start({ CELLS: file });
      return await compare(main, east);
    } finally {
      for (const platform of platforms) await platform.stop();
      rmSync(directory, { recursive: true });
    }
  },
};

/** Describes the services of a platform, whose own gateway has nothing to do, as a cell. */
function describe({ deployment, natsUrl }: ProcessPlatform) {
  const urls = services.map(({ name }) => [name, `http://127.0.0.1:${deployment.ports[name]}`]);
  return { services: Object.fromEntries(urls), nats: { url: natsUrl('gateway') } };
}

/** CPU of a write in microseconds: of everything, and of that what the gateway took. */
interface Cost {
  all: number;
  gateway: number;
}

async function compare(main: ProcessPlatform, east: ProcessPlatform): Promise<Figure[]> {
  const write = async (settings: Record<string, unknown>) => {
    const { key } = await main.account(settings);
    return requestBytes(
      main.gatewayUrl,
      'POST /v1/crm/deals',
      { authorization: `Bearer ${key}` },
      '{"title":"a deal"}',
    );
  };
  const [near, far] = [await write({}), await write({ cell: 'east' })];
  const pids = [main, east].flatMap((platform) =>
    [...platform.processNames, ...servers].map((name) => platform.pidOf(name)!),
  );
  const gateway = main.pidOf('gateway')!;
  const statuses = new Set<string>();
  const round = async (request: Buffer): Promise<Cost> => {
    const used = () => ({
      all: pids.reduce((sum, pid) => sum + cpuSecondsWithChildren(pid), 0),
      gateway: cpuSecondsWithChildren(gateway),
    });
    const before = used();
    let sent = 0;
    const next = () => (sent++ < writes ? request : undefined);
    const result = await closedLoop({ url: main.gatewayUrl, connections, next });
    for (const status of Object.keys(result.statuses)) statuses.add(status);
    await untilIdle(pids, idleMs);
    const after = used();
    return {
      all: ((after.all - before.all) / writes) * 1e6,
      gateway: ((after.gateway - before.gateway) / writes) * 1e6,
    };
  };
  const costs = { near: [] as Cost[], far: [] as Cost[] };
  for (const request of [near, far]) await round(request);
  for (let count = 0; count < rounds; count++) {
    costs.near.push(await round(near));
    costs.far.push(await round(far));
  }
  const middle = (of: (cost: Cost) => number) => [costs.near, costs.far].map((each) => median(each.map(of)));
  const [allNear, allFar] = middle(({ all }) => all) as [number, number];
  const [gatewayNear, gatewayFar] = middle(({ gateway: cpu }) => cpu) as [number, number];
  return [
    exactly('Statuses of all writes', [...statuses].join(', '), '201'),
    atMost('CPU of a write to another cell ÷ to main', allFar / allNear, 1.05),
    atMost('CPU of a write in the gateway, to another cell ÷ to main', gatewayFar / gatewayNear, 1.05),
    told('CPU of a write, all processes and servers', allFar, 'µs'),
    told('Share of it that its cell does: twice the machines for cells do twice of that', 1 - gatewayFar / allFar),
  ];
}
