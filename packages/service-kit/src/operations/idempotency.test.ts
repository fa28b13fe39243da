import { randomUUID } from 'node:crypto';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { inTransaction } from '../database/database.ts';
import { lockNumber } from '../database/locks.ts';
import { claimKey } from './idempotency.ts';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
}, 60_000);
afterAll(() => platform?.stop());

it('a key is held by a number that PostgreSQL’s own hash gives no text: whoever calculates that backwards could hold a lock of a service', async () => {
  const sql = platform.database('crm');
  const [accountId, method, path, key] = [randomUUID(), 'POST', '/v1/crm/deals', 'kAAA1{eFV9$IQpP'];
  const claim = { accountId, method, path, key, fingerprint: Buffer.alloc(32), seal: undefined };
  await inTransaction(sql, async (holder) => {
    const claimed = () => inTransaction(sql, (tx) => claimKey(tx, claim, new Date()));
    await holder`select pg_advisory_xact_lock(hashtextextended(${`${accountId} ${method} ${path} ${key}`}, 0))`;
    expect(await claimed()).toBeUndefined();
    await holder`select pg_advisory_xact_lock(${lockNumber('key', accountId, method, path, key)}::bigint)`;
    expect(await claimed()).toEqual({ kind: 'running' });
  });
});
