import { type Platform, rawRequest, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SlowClient } from '../../test/slow-client.ts';

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform({ services: [], env: { TRUSTED_PROXIES: '127.0.0.1' } });
});
afterAll(async () => {
  await platform?.stop();
});

const ask = (key: string | null, from: string) =>
  rawRequest(platform.adminUrl, 'GET', '/admin/accounts', { key, headers: { 'x-forwarded-for': from } });

/** Returns the time in milliseconds until a wrong token is refused. */
async function wrongMs(from: string, key: string | null = 'wrong'): Promise<number> {
  const began = performance.now();
  expect((await ask(key, from)).status).toBe(401);
  return performance.now() - began;
}

describe('wrong admin tokens of an address', () => {
  it('are refused with increasing delays from the fifth on, up to two seconds', async () => {
    const from = '203.0.113.1';
    for (let count = 1; count < 5; count++) await wrongMs(from);
    const times: number[] = [];
    for (let count = 5; count < 14; count++) times.push(await wrongMs(from));
    // A timer is early by at most its rounding. A busy machine may delay it.
    for (const [index, ms] of times.entries()) expect(ms).toBeGreaterThan(Math.min((index + 1) * 250, 2_000) - 5);
    expect(await wrongMs(from, null)).toBeGreaterThan(1_995);
  });

  it('delay neither the right token nor another address', async () => {
    const from = '2001:db8::1';
    // Enough that each further one waits two seconds, which leaves time for the others even if the machine stalls.
    await Promise.all(Array.from({ length: 12 }, () => wrongMs(from)));
    const order: string[] = [];
    const then = (name: string, response: Promise<unknown>) => response.then(() => order.push(name));
    await Promise.all([
      then('wrong', wrongMs('2001:db8::2')),
      then('wrong', wrongMs('2001:db8::3')),
      then('right', ask(platform.adminToken, from)),
      then('other', wrongMs('2001:db8:0:1::1')),
    ]);
    expect(order.slice(0, 2).sort()).toEqual(['other', 'right']);
  });

  it('wait at most a hundred at once, and further ones are 429', async () => {
    const from = '203.0.113.3';
    for (let count = 0; count < 12; count++) await wrongMs(from);
    const lines = [
      'GET /admin/accounts HTTP/1.1',
      'Host: x',
      'Authorization: Bearer wrong',
      `X-Forwarded-For: ${from}`,
    ];
    const clients = Array.from({ length: 150 }, () => new SlowClient(platform.adminUrl, lines.join('\r\n')));
    try {
      // Connections are accepted in order, so all are accepted once a later one has its response. All requests then end at once.
      expect((await ask(platform.adminToken, from)).status).toBe(200);
      for (const client of clients) client.send('\r\n\r\n');
      await waitFor('every response', () => clients.every(({ status }) => status), 20_000);
      const statuses = clients.map(({ status }) => status);
      expect(new Set(statuses)).toEqual(new Set([401, 429]));
      expect((await ask(platform.adminToken, from)).status).toBe(200);
    } finally {
      for (const client of clients) client.end();
    }
  });
});
