import { randomUUID } from 'node:crypto';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../database/database.ts';
import { createLogger } from '../telemetry/logging.ts';
import { ConsumerLease } from './consumer-lease.ts';

let platform: Platform;
let sql: Database;
const leases: ConsumerLease[] = [];
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
});
afterEach(async () => {
  for (const lease of leases.splice(0)) await lease.stop();
});
afterAll(() => platform?.stop());

/** State of a consumer at the bus: events that processes were given, and requests for more. */
interface AtTheBus {
  unacknowledged: number;
  requests: number;
  failingMs?: number;
}

function startLease(name: string, atTheBus: AtTheBus, database = sql) {
  const asked = { times: 0, heldAfter: undefined as number | undefined };
  const pending = async () => {
    asked.times++;
    return { ...atTheBus, count: 0, oldestAt: undefined };
  };
  let back: () => void = () => undefined;
  const bus = {
    tell: () => undefined,
    onPeers: () => undefined,
    onBack: (called: () => void) => {
      back = called;
    },
    isConnected: () => true,
  };
  const failingMs = () => atTheBus.failingMs ?? 0;
  const log = createLogger('test', 'silent');
  const changed = () => {
    asked.heldAfter = asked.times;
  };
  const lease = new ConsumerLease(name, { sql: database, bus, log, consuming: { pending, failingMs }, changed });
  leases.push(lease);
  return { lease, asked, reconnect: () => back() };
}

/** Leaves a lease behind as a process does that died, and whose lease is over. */
async function leaveBehind(name: string, holder: string): Promise<void> {
  await sql`insert into reporters (name, holder, held_until) values (${`consumer ${name}`}, ${holder}, now() - interval '1 s')`;
}

describe('the lease of a consumer that takes events in order', () => {
  it('is taken at once where nobody had it, or the last one released it', async () => {
    const name = randomUUID();
    const first = startLease(name, { unacknowledged: 0, requests: 0 });
    await waitFor('the lease', () => first.lease.isHeld);
    expect(first.asked.heldAfter).toBe(0);
    await first.lease.stop();
    const second = startLease(name, { unacknowledged: 3, requests: 1 });
    await waitFor('the lease', () => second.lease.isHeld);
    expect(second.asked.heldAfter).toBe(0);
  });

  it('of a process that died is followed only when nothing that it was given can come behind what is new', async () => {
    const name = randomUUID();
    await leaveBehind(name, randomUUID());
    const atTheBus: AtTheBus = { unacknowledged: 1, requests: 0 };
    const { lease, asked } = startLease(name, atTheBus);
    await waitFor('two looks at what it was given', () => asked.times > 1);
    expect(lease.isHeld).toBe(false);
    Object.assign(atTheBus, { unacknowledged: 0, requests: 1 });
    const sinceMs = asked.times;
    await waitFor('two looks at its requests', () => asked.times > sinceMs + 1);
    expect(lease.isHeld).toBe(false);
    Object.assign(atTheBus, { requests: 0 });
    await waitFor('the lease', () => lease.isHeld);
  });

  it('is followed in the end, whatever the bus says: all that was given has come again by then', async () => {
    const name = randomUUID();
    await leaveBehind(name, randomUUID());
    const { lease } = startLease(name, { unacknowledged: 1, requests: 1 });
    await waitFor('the lease', () => lease.isHeld);
  });

  it('that a process took without learning of it is followed as that of the one before', async () => {
    const name = randomUUID();
    await leaveBehind(name, randomUUID());
    let isLost = false;
    const losing = (async (...statement: Parameters<Database>) => {
      const reply = await sql(...statement);
      if (isLost) return reply;
      isLost = true;
      throw new Error('the connection broke before the reply');
    }) as unknown as Database;
    const atTheBus: AtTheBus = { unacknowledged: 1, requests: 0 };
    const { lease, asked } = startLease(name, atTheBus, losing);
    await waitFor('two looks at what was given before', () => asked.times > 1);
    expect(lease.isHeld).toBe(false);
    atTheBus.unacknowledged = 0;
    await waitFor('the lease', () => lease.isHeld);
  });

  it('is left to others by a process that the bus does not let pull', async () => {
    const name = randomUUID();
    const atTheBus: AtTheBus = { unacknowledged: 0, requests: 0 };
    const stuck = startLease(name, atTheBus);
    await waitFor('the lease', () => stuck.lease.isHeld);
    const able = startLease(name, { ...atTheBus });
    atTheBus.failingMs = 60_000;
    await waitFor('the lease', () => able.lease.isHeld);
    expect(stuck.lease.isHeld).toBe(false);
  });

  it('is used in the end by a process whose connection to the bus breaks again and again', async () => {
    const atTheBus: AtTheBus = { unacknowledged: 0, requests: 0 };
    const { lease, reconnect } = startLease(randomUUID(), atTheBus);
    await waitFor('the lease', () => lease.isHeld);
    atTheBus.unacknowledged = 1;
    reconnect();
    expect(lease.isHeld).toBe(false);
    await waitFor('the lease', () => {
      if (!lease.isHeld) reconnect();
      return lease.isHeld;
    });
  });
});
