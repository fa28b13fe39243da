import { internalRequest } from '@customer-platform/contracts/core';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { z } from 'zod';
import { Bus } from '../bus/bus.ts';
import { Clocks } from '../clocks/clocks.ts';
import { Connections } from '../fairness/fair-permits.ts';
import { createLogger } from '../telemetry/logging.ts';
import { noAccount } from '../values/no-account.ts';
import { type BoundRequest, handleRequest, handleRequests } from './requests.ts';

let platform: Platform;
let bus: Bus;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp'] });
  const { NATS_URL, BUS_PREFIX } = platform.env('cdp');
  const log = createLogger('test', 'silent');
  bus = await Bus.connect(NATS_URL!, { prefix: BUS_PREFIX!, service: 'cdp', log, requestTimeoutMs: 60_000 });
}, 60_000);
afterAll(async () => {
  await bus?.close();
  await platform?.stop();
});

/** Handles a request in this process, with `clocks`. */
function handleHere(handler: BoundRequest<undefined>, clocks: Clocks): void {
  const connections = new Connections(4, () => 0);
  const log = createLogger('test', 'silent');
  const work = { sql: platform.database('cdp'), bus, log, clock: clocks.now, clocks, connections };
  handleRequests(bus, [handler], { ...work, resources: undefined, eventsCommitted: () => undefined } as never);
}

it('waiting requests for one account leave connections to other accounts and operators', async () => {
  const countDoors = internalRequest('countDoors', 'cdp', z.object({}), z.object({ doors: z.number() }));
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  let [waiting, most] = [0, 0];
  const handler = handleRequest(countDoors, async ({ accountId }) => {
    if (accountId !== 'busy') return { doors: 1 };
    most = Math.max(most, ++waiting);
    await opened;
    waiting--;
    return { doors: 2 };
  });
  handleHere(handler, new Clocks());
  const replies = Array.from({ length: 20 }, () => bus.ask(countDoors, 'busy', {}));
  await waitFor('some to wait', () => waiting >= 3);
  for (const other of ['other', noAccount]) expect(await bus.ask(countDoors, other, {})).toEqual({ doors: 1 });
  expect(most).toBe(3);
  open();
  expect(await Promise.all(replies)).toEqual(replies.map(() => ({ doors: 2 })));
  expect(most).toBe(3);
});

it('a request for a sandbox runs at the time of the asker or later, even if a move is not known yet', async () => {
  const tellTime = internalRequest('tellTime', 'cdp', z.object({}), z.object({ ms: z.number() }));
  const real = Date.parse('2026-11-20T09:00:00Z');
  handleHere(
    handleRequest(tellTime, async ({ now }) => ({ ms: now.getTime() - real })),
    new Clocks(() => new Date(real)),
  );
  const { NATS_URL, BUS_PREFIX } = platform.env('cdp');
  const log = createLogger('test', 'silent');
  const ahead = new Map([['sandbox', 86_400_000]]);
  const aheadOf = (account: string) => ahead.get(account) ?? 0;
  const asker = await Bus.connect(NATS_URL!, { prefix: BUS_PREFIX!, service: 'cdp', log, aheadOf });
  try {
    expect(await asker.ask(tellTime, 'sandbox', {})).toEqual({ ms: 86_400_000 });
    expect(await asker.ask(tellTime, 'other', {})).toEqual({ ms: 0 });
  } finally {
    await asker.close();
  }
});
