import type { Server } from 'node:http';
import { type AccountContext, ApiError, operationsOf } from '@customer-platform/contracts/core';
import { type Platform, rawRequest, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { z } from 'zod';
import { lockNumber } from '../database/locks.ts';
import { Connections } from '../fairness/fair-permits.ts';
import {
  bindOperations,
  Clocks,
  createApp,
  createLogger,
  type Database,
  implementer,
  listen,
  openDatabase,
} from '../index.ts';
import { Prefetch, PrefetchNeeded } from './call.ts';
import type { PrefetchCall } from './operation.ts';

const makeNote = operationsOf('cdp', null)('makeNote', {
  method: 'POST',
  path: '/v1/cdp/notes',
  scope: null,
  summary: 'Make a note',
  status: 201,
  response: z.object({ learned: z.boolean() }),
  errors: [],
});
const account = {
  id: '00000000-0000-4000-8000-000000000001',
  owner: '00000000-0000-4000-8000-000000000001',
} as AccountContext;

let platform: Platform;
let sql: Database;
const servers: Server[] = [];
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp'] });
  sql = platform.database('cdp');
}, 60_000);
afterAll(async () => {
  for (const server of servers) server.close();
  await platform.stop();
});

/** Serves `makeNote`, whose handler needs a prefetch; returns the URL. */
async function serve(prefetch: () => Promise<boolean>, clock: () => Date): Promise<string> {
  const app = createApp();
  const operation = implementer()(makeNote, {
    handle: async (call) => ({ learned: call.prefetch(prefetch) }),
  });
  bindOperations(app, [operation], {
    sql,
    log: createLogger('cdp', 'silent'),
    clock,
    clocks: new Clocks(clock),
    resources: undefined,
    authenticate: () => account,
    bus: { ask: () => Promise.reject(new Error('no request is expected')) },
    config: { CONTEXT_SECRET: 'secret' },
    eventsCommitted: () => undefined,
    watch: { lookSoon: () => undefined },
    connections: new Connections(4, () => 0),
  });
  const { url, server } = await listen(app, 0, '127.0.0.1');
  servers.push(server);
  return url;
}

it('a handler never continues without the result of its prefetch, even if another session holds the key meanwhile', async () => {
  // One session.
  const other = openDatabase(platform.env('cdp').DATABASE_URL!, { pool: 1, service: 'cdp' });
  let timesAsked = 0;
  let isHeld = false;
  let readings = 0;
  const key = lockNumber('key', account.id, 'POST', '/v1/cdp/notes', 'one-key');
  const prefetch = async () => {
    timesAsked++;
    if (timesAsked === 1) {
      await other`select pg_advisory_lock(${key}::bigint)`;
      isHeld = true;
    }
    throw new ApiError('invalid_request', 'url must be public', { field: 'url' });
  };
  let released: Promise<unknown> = Promise.resolve();
  // The first reading is of the refusal, which cannot be stored under the locked key. The next is of another attempt.
  const clock = () => {
    if (isHeld && ++readings === 2) released = other`select pg_advisory_unlock(${key}::bigint)`.execute();
    return new Date();
  };
  const url = await serve(prefetch, clock);
  const send = () => rawRequest(url, 'POST', '/v1/cdp/notes', { headers: { 'idempotency-key': 'one-key' } });
  const first = await send();
  await released;
  await other.end();
  expect([first.status, first.body.error?.field, timesAsked]).toEqual([400, 'url', 2]);
  const again = await send();
  expect([again.status, again.headers.get('idempotent-replayed'), timesAsked]).toEqual([400, 'true', 2]);
});

it('no other prefetch gets the result of one that is not asked for again', async () => {
  const prefetch = new Prefetch();
  const call = {} as PrefetchCall;
  const first = prefetch.attempt();
  const learn = neededBy(() => first(async () => 'a contact', 'contact'));
  await learn.work(call);
  const second = prefetch.attempt();
  const search = neededBy(() => second(async () => 'a page'));
  await search.work(call);
  expect(prefetch.attempt()(async () => 'another page')).toBe('a page');
});

/** Returns the error that aborts a handler in need of a prefetch. */
function neededBy(handle: () => unknown): PrefetchNeeded {
  try {
    handle();
  } catch (error) {
    if (error instanceof PrefetchNeeded) return error;
  }
  throw new Error('nothing was needed');
}
