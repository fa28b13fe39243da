import { pagesOf, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { askServer, type PairedPlatform, startOnPair } from './postgres-pair.ts';

/** Number of contacts created before the primary is killed, and after it. */
const madeEach = 100;

let paired: PairedPlatform;
beforeAll(async () => {
  paired = await startOnPair(['cdp', 'crm', 'webhooks'], { synchronous: true }, (direct, primary, standby) => ({
    DATABASE_URL: `${direct.replace(primary, `${primary},${standby}`)}?target_session_attrs=primary`,
  }));
}, 120_000);
afterAll(() => paired?.stop(), 60_000);

it('continues with a promoted standby without a restart, and keeps every acknowledged write', async () => {
  const { pair, platform } = paired;
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
  // waitFor's timeout of 30 s is the promised maximum.
  await more();
  isOver = true;
  await Promise.all(clients);
  const { data } = await pagesOf((query) => account.client.cdp.contacts.list({ query }));
  const kept = new Set(data.map(({ id }) => id));
  expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
  await waitFor('the events', async () => {
    const { data: events } = await pagesOf((query) =>
      account.client.events.list({ query: { ...query, type: 'contact.created' } }),
    );
    return events.length >= acknowledged.length;
  });
}, 180_000);
