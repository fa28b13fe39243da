import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '@customer-platform/service-kit';
import {
  type Platform,
  type Relay,
  rawRequest,
  startPlatform,
  startRelay,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startGateway } from '../main.ts';
import { cellCarriers } from './cell-carriers.ts';
import type { Cells } from './cells.ts';

let directory: string;
let east: Relay;
let platform: Platform;
let sql: Database;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cells-'));
  east = await startRelay(process.env.TEST_NATS_URL!);
  const file = join(directory, 'cells.json');
  writeFileSync(file, JSON.stringify({ east: { services: {}, nats: { url: east.url } } }));
  platform = await startPlatform({ services: [], env: { CELLS: file } });
  sql = openDatabase(platform.env('gateway').DATABASE_URL!, { pool: 1, service: 'gateway' });
});
afterAll(async () => {
  east?.mend();
  await sql?.end();
  await platform?.stop();
  await east?.stop();
  rmSync(directory, { recursive: true });
});

const waiting = async ({ id }: TestAccount) =>
  await sql<{ reason: string | null; tries: number; is_due: boolean }[]>`
    select reason, tries, due_at <= now() as is_due from outbox where account_id = ${id}`;

const rename = async ({ id }: TestAccount, name: string, adminUrl = platform.adminUrl) => {
  const key = platform.adminToken;
  const { status } = await rawRequest(adminUrl, 'PATCH', `/admin/accounts/${id}`, { key, body: { name } });
  expect(status).toBe(200);
};

it('events of one account go in their order, however long its cell is looked for, and it is looked for once', async () => {
  const published: string[] = [];
  const bus = { publish: async ({ kind }: { kind: string }) => void published.push(kind) };
  const main = { name: 'main', bus };
  const looked: ((cell: string) => void)[] = [];
  const look = () => new Promise<string>((resolve) => void looked.push(resolve));
  const [carrier] = cellCarriers({ all: [main], main, get: () => main } as unknown as Cells, look);
  const common = { id: '', audience: 'internal', sequence: 1, envelope: '{}', trace: undefined };
  const publish = async (kind: string, account_id = 'one') => await carrier!.publish({ ...common, account_id, kind });
  const all = [publish('first'), publish('second'), publish('of another', 'two')];
  for (const found of looked.toReversed()) {
    found('main');
    await new Promise(setImmediate);
  }
  await Promise.all(all);
  expect([published, looked.length]).toEqual([['of another', 'first', 'second'], 2]);
  // For those that come later it is looked for once more.
  const later = publish('third');
  looked.at(-1)!('main');
  await later;
  expect(looked.length).toBe(3);
});

it('a cell whose bus takes connections and never responds has its events wait, and no round of another for them', async () => {
  const [inMain, inEast] = [await platform.account(), await platform.account({ cell: 'east' })];
  await waitFor(
    'the bus to have all',
    async () => [...(await waiting(inMain)), ...(await waiting(inEast))].length === 0,
  );
  east.stall();
  await rename(inEast, 'East');
  for (const name of ['One', 'Two']) {
    await rename(inMain, name);
    await waitFor('the event of main to go', async () => (await waiting(inMain)).length === 0);
    // No round had both: it would have set aside what did not go.
    expect(await waiting(inEast)).toEqual([{ reason: null, tries: 0, is_due: true }]);
  }
  east.mend();
  await waitFor('the event of east to go', async () => (await waiting(inEast)).length === 0, 60_000);
}, 120_000);

it('an account of a cell that CELLS has no more is said to wait, and others are not kept', async () => {
  const [lost, inMain] = [await platform.account(), await platform.account()];
  await sql`update accounts set cell = 'gone' where account_id = ${lost.id}`;
  await rename(lost, 'Lost');
  const [row] = await waitFor('the reason', async () => {
    await rename(inMain, `Name ${Math.random()}`);
    const rows = await waiting(lost);
    return rows[0]?.reason ? rows : undefined;
  });
  expect(row!.reason).toContain('the cell gone is not among those of CELLS');
  await waitFor('the events of main to go', async () => (await waiting(inMain)).length === 0);
  await sql`update accounts set cell = 'main' where account_id = ${lost.id}`;
}, 60_000);

it('a gateway that has not been told of a cell leaves its events to those that have', async () => {
  const [inMain, inEast] = [await platform.account(), await platform.account({ cell: 'east' })];
  await waitFor('the bus to have all', async () => (await waiting(inEast)).length === 0);
  east.stall();
  const { CELLS: _, ...withoutCells } = platform.env('gateway');
  const untold = await startGateway(withoutCells);
  try {
    await rename(inEast, 'East');
    const reason = await waitFor('it to say why', async () => {
      // A round of its own in which something goes: where nothing does, no event is at fault.
      await rename(inMain, randomUUID(), untold.adminUrl);
      return (await waiting(inEast))[0]?.reason;
    });
    expect(reason).toContain('the cell east is not among those of CELLS');
  } finally {
    await untold.stop();
    east.mend();
  }
  await waitFor('the event of east to go', async () => (await waiting(inEast)).length === 0, 60_000);
}, 120_000);
