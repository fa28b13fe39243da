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

const rounds = 3;
/** Of each cell: what takes up work in batches takes as many at once as it does alone. */
const writesOfCell = 2_000;
const connectionsOfCell = 16;
const idleMs = 10_000;
const servers = ['postgres', 'nats'] as const;

/**
 * Measures what cells cost: writes to one cell, and twice as many to two, with as many clients of each. One machine cannot show what two of them
 * would serve; that follows from how much of a write is done in its cell, which nothing else shares.
 */
export const cellsBench: Bench = {
  name: 'cells',
  summary: 'writes to one cell, and to two cells with twice the clients, through one gateway',
  async measure() {
    const directory = mkdtempSync(join(tmpdir(), 'cells-'));
    const file = join(directory, 'cells.json');
    const common = { CONTEXT_SECRET: randomBytes(32).toString('hex') };
    const platforms: ProcessPlatform[] = [];
    const start = async (env: Record<string, string>) => {
      const platform = await startPlatform({ ...common, ...env });
      platforms.push(platform);
      return platform;
    };
    try {
      const east = await start({});
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
  const round = async (requests: readonly Buffer[]): Promise<Cost> => {
    const used = () => ({
      all: pids.reduce((sum, pid) => sum + cpuSecondsWithChildren(pid), 0),
      gateway: cpuSecondsWithChildren(gateway),
    });
    const writes = writesOfCell * requests.length;
    const connections = connectionsOfCell * requests.length;
    const before = used();
    let sent = 0;
    const next = () => (sent < writes ? requests[sent++ % requests.length] : undefined);
    const result = await closedLoop({ url: main.gatewayUrl, connections, next });
    for (const status of Object.keys(result.statuses)) statuses.add(status);
    await untilIdle(pids, idleMs);
    const after = used();
    return {
      all: ((after.all - before.all) / writes) * 1e6,
      gateway: ((after.gateway - before.gateway) / writes) * 1e6,
    };
  };
  const costs = { one: [] as Cost[], two: [] as Cost[] };
  for (const requests of [[near], [near, far]]) await round(requests);
  for (let count = 0; count < rounds; count++) {
    costs.one.push(await round([near]));
    costs.two.push(await round([near, far]));
  }
  const [inOne, inTwo] = [costs.one, costs.two].map((each) => median(each.map(({ all }) => all))) as [number, number];
  const [atOne, atTwo] = [costs.one, costs.two].map((each) => median(each.map(({ gateway: cpu }) => cpu))) as [
    number,
    number,
  ];
  return [
    exactly('Statuses of all writes', [...statuses].join(', '), '201'),
    atMost('CPU of a write, two cells ÷ one', inTwo / inOne, 1.05),
    atMost('CPU of a write in the gateway, two cells ÷ one', atTwo / atOne, 1.05),
    told('CPU of a write, all processes and servers', inTwo, 'µs'),
    told('Share of it that its cell does: twice the machines for cells do twice of that', 1 - atTwo / inTwo),
  ];
}
