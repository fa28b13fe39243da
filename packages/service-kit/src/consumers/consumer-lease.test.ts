import { randomUUID } from 'node:crypto';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, openDatabase } from '../database/database.ts';
import { createLogger } from '../telemetry/logging.ts';
import { ConsumerLease } from './consumer-lease.ts';

let platform: Platform;
let sql: Database;
const leases: { stop(): Promise<void> }[] = [];
const log = createLogger('test', 'silent');
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
});
afterEach(async () => {
  for (const lease of leases.splice(0)) await lease.stop();
});
afterAll(() => platform?.stop());

/** State of a consumer at the bus: unacknowledged events, and waiting pull requests. */
interface AtTheBus {
  unacknowledged: number;
  requests: number;
}

function startLease(name: string, atTheBus: AtTheBus) {
  const session = openDatabase(platform.env('crm').DATABASE_URL!, { pool: 1, service: 'crm' });
  const asked = { times: 0 };
  const pending = async () => {
    asked.times++;
    return { ...atTheBus, count: 0, oldestAt: undefined };
  };
  const bus = { onReconnect: () => undefined, isConnected: () => true };
  const lease = new ConsumerLease(name, { sql: session, bus, log, consuming: { pending }, changed: () => undefined });
  const stop = async () => {
    await lease.stop();
    await session.end({ timeout: 0 });
  };
  leases.push({ stop });
  return { lease, asked, session, stop };
}

describe('the lease of a consumer that takes events in order', () => {
  it('is held by one process at a time, and passes on when that process stops', async () => {
    const name = randomUUID();
    const first = startLease(name, { unacknowledged: 0, requests: 0 });
    await waitFor('the lease', () => first.lease.isHeld);
    const second = startLease(name, { unacknowledged: 0, requests: 0 });
    await first.stop();
    expect(first.lease.isHeld).toBe(false);
    await waitFor('the lease', () => second.lease.isHeld);
  });

  it('passes on when the connection of its holder is lost', async () => {
    const name = randomUUID();
    const first = startLease(name, { unacknowledged: 0, requests: 0 });
    await waitFor('the lease', () => first.lease.isHeld);
    const second = startLease(name, { unacknowledged: 0, requests: 0 });
    await first.session.end({ timeout: 0 });
    await waitFor('the lease', () => second.lease.isHeld && !first.lease.isHeld);
  });

  it('does not delay an index that is built concurrently', async () => {
    const { lease } = startLease(randomUUID(), { unacknowledged: 0, requests: 0 });
    await waitFor('the lease', () => lease.isHeld);
    await sql`create table lease_records (note text)`;
    // A partial index waits for every transaction that has a snapshot.
    await sql.unsafe(`create index concurrently lease_records_by_note on lease_records (note) where note <> ''`);
    await sql`drop table lease_records`;
  });

  it('starts only when no earlier delivery can come after new ones', async () => {
    const atTheBus: AtTheBus = { unacknowledged: 1, requests: 0 };
    const { lease, asked } = startLease(randomUUID(), atTheBus);
    await waitFor('two looks at the deliveries', () => asked.times > 1);
    expect(lease.isHeld).toBe(false);
    Object.assign(atTheBus, { unacknowledged: 0, requests: 1 });
    const before = asked.times;
    await waitFor('two looks at the requests', () => asked.times > before + 1);
    expect(lease.isHeld).toBe(false);
    Object.assign(atTheBus, { requests: 0 });
    await waitFor('the lease', () => lease.isHeld);
  });

  it('starts after the longest handover, whatever the bus says', async () => {
    const { lease } = startLease(randomUUID(), { unacknowledged: 1, requests: 1 });
    await waitFor('the lease', () => lease.isHeld);
  });
});
