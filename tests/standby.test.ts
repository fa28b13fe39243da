import { type Platform, pagesOf, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { askServer, type Pair, startPair } from './postgres-pair.ts';

/** Contacts that are made before the primary is killed, and after it. */
const madeEach = 100;

let pair: Pair;
let platform: Platform;
const serverBefore = process.env.TEST_DATABASE_URL!;

beforeAll(async () => {
  pair = await startPair({ synchronous: true });
  process.env.TEST_DATABASE_URL = pair.primaryUrl;
  const [first, second] = [new URL(pair.primaryUrl).host, new URL(pair.standbyUrl).host];
  platform = await startPlatform({
    services: ['cdp', 'crm', 'webhooks'],
    env: { LOG_LEVEL: 'silent' },
    databaseEnv: (direct) => ({
      DATABASE_URL: `${direct.replace(first, `${first},${second}`)}?target_session_attrs=primary`,
    }),
  });
}, 120_000);
afterAll(async () => {
  process.env.TEST_DATABASE_URL = serverBefore;
  await platform?.stop();
  await pair?.stop();
}, 60_000);

it('goes on with a standby that is promoted, without a restart, and has every write that was acknowledged', async () => {
  const account = await platform.account();
  const acknowledged: string[] = [];
  let isOver = false;
  const client = async () => {
    while (!isOver) {
      const response = await account.request('POST', '/v1/cdp/contacts', { body: { name: 'Ada' } });
      if (response.status === 201) acknowledged.push(response.body.id);
      else expect(response.status).toBe(503);
    }
  };
  const clients = Array.from({ length: 4 }, client);
  const more = async () => {
    const until = acknowledged.length + madeEach;
    await waitFor('more contacts', () => acknowledged.length >= until);
  };
  await more();
  process.kill(pair.primary.pid, 'SIGKILL');
  await askServer(pair.standbyUrl, (sql) => sql`select pg_promote()`);
  // The bound of waitFor is the one that is promised: 30 s.
  await more();
  isOver = true;
  await Promise.all(clients);
  const { data } = await pagesOf((query) => account.client.listContacts({ query }));
  const kept = new Set(data.map(({ id }) => id));
  expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
  await waitFor('the events', async () => {
    const { data: events } = await pagesOf((query) =>
      account.client.listEvents({ query: { ...query, type: 'contact.created' } }),
    );
    return events.length >= acknowledged.length;
  });
}, 180_000);
