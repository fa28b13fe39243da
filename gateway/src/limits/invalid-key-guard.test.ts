import { Bus, createLogger } from '@customer-platform/service-kit';
import { type Platform, type Relay, rawRequest, startPlatform, startRelay, waitFor } from '@customer-platform/testkit';
import { describe, expect, it, jest } from '@jest/globals';
import { newKey } from '../keys/key-format.ts';
import { startGateway } from '../main.ts';

const wrong = 'cp_live_0000000000000000000000000000000000000000';

const ask = (url: string, key: string | null, from?: string) =>
  rawRequest(url, 'GET', '/v1/me', { key, ...(from ? { headers: { 'x-forwarded-for': from } } : {}) });

async function blockAt(url: string, from: string): Promise<void> {
  for (let count = 0; count < 20; count++) expect((await ask(url, wrong, from)).status).toBe(401);
}

async function withPlatform(use: (platform: Platform, redis: Relay, second: { url: string }) => Promise<void>) {
  const redis = await startRelay(process.env.TEST_REDIS_URL!);
  const platform = await startPlatform({
    services: [],
    env: { TRUSTED_PROXIES: '127.0.0.1', REDIS_URL: redis.url },
  });
  const second = await startGateway(platform.env('gateway'));
  try {
    await use(platform, redis, second);
  } finally {
    await second.stop();
    await platform.stop();
    await redis.stop();
  }
}

describe('an address that tries keys', () => {
  it('is refused everywhere after twenty invalid ones, good keys too, and nobody else is', async () => {
    await withPlatform(async (platform, _redis, second) => {
      const { key } = await platform.account();
      for (let count = 0; count < 30; count++)
        expect((await ask(platform.gatewayUrl, null, '198.51.100.7')).status).toBe(401);
      for (let count = 0; count < 20; count++) {
        const url = count % 2 === 0 ? platform.gatewayUrl : second.url;
        expect((await ask(url, wrong, '198.51.100.7')).body.error.code).toBe('invalid_key');
      }
      for (const { url } of [{ url: platform.gatewayUrl }, second]) {
        await waitFor('the block', async () => (await ask(url, key, '198.51.100.7')).status === 429);
        const refused = await ask(url, key, '198.51.100.7');
        expect(refused.body.error.code).toBe('rate_limited');
        const seconds = Number(refused.headers.get('retry-after'));
        expect(seconds).toBeGreaterThan(50);
        expect(seconds).toBeLessThanOrEqual(60);
        const docs = await rawRequest(url, 'GET', '/v1/openapi.json', {
          headers: { 'x-forwarded-for': '198.51.100.7' },
        });
        expect(docs.status).toBe(429);
        expect((await ask(url, key, '198.51.100.8')).status).toBe(200);
      }
    });
  });

  it('of IPv6 is its /64', async () => {
    await withPlatform(async (platform) => {
      const { key } = await platform.account();
      for (let count = 0; count < 20; count++)
        expect((await ask(platform.gatewayUrl, wrong, `2001:db8:0:1::${count + 1}`)).status).toBe(401);
      expect((await ask(platform.gatewayUrl, key, '2001:db8:0:1:ffff::1')).status).toBe(429);
      expect((await ask(platform.gatewayUrl, key, '2001:db8:0:2::1')).status).toBe(200);
    });
  });

  it('and from which three accounts came is shared: invalid keys alone are refused there, on every gateway', async () => {
    await withPlatform(async (platform, _redis, second) => {
      const keys = await Promise.all(Array.from({ length: 3 }, async () => (await platform.account()).key));
      const urls = [platform.gatewayUrl, second.url];
      const shared = '198.51.100.9';
      for (const [index, key] of keys.entries()) expect((await ask(urls[index % 2]!, key, shared)).status).toBe(200);
      await blockAt(platform.gatewayUrl, shared);
      for (const url of urls) {
        await waitFor('the block', async () => (await ask(url, wrong, shared)).status === 429);
        for (const key of keys) await waitFor('a good key', async () => (await ask(url, key, shared)).status === 200);
        const refused = await ask(url, wrong, shared);
        expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited']);
        expect((await ask(url, null, shared)).status).toBe(401);
      }
      const { body } = await platform.admin('GET', '/admin/addresses');
      expect(body.data).toMatchObject([{ address: shared, shared: true }]);
    });
  });

  it('and from which two accounts came is not: they share its block', async () => {
    await withPlatform(async (platform) => {
      const [one, other] = [await platform.account(), await platform.account()];
      for (const key of [one.key, one.testKey, other.key])
        expect((await ask(platform.gatewayUrl, key, '198.51.100.10')).status).toBe(200);
      await blockAt(platform.gatewayUrl, '198.51.100.10');
      expect((await ask(platform.gatewayUrl, one.key, '198.51.100.10')).status).toBe(429);
    });
  });

  it('becomes a shared one by the valid keys that are refused while it is blocked, on every gateway', async () => {
    await withPlatform(async (platform, _redis, second) => {
      const keys = await Promise.all(Array.from({ length: 3 }, async () => (await platform.account()).key));
      const urls = [platform.gatewayUrl, second.url];
      const shared = '198.51.100.11';
      await blockAt(platform.gatewayUrl, shared);
      for (const url of urls) await waitFor('the block', async () => (await ask(url, wrong, shared)).status === 429);
      const fromTwo = async () => [await ask(urls[0]!, keys[0]!, shared), await ask(urls[1]!, keys[1]!, shared)];
      for (let count = 0; count < 5; count++) expect((await fromTwo()).map(({ status }) => status)).toEqual([429, 429]);
      await waitFor('the third account', async () => {
        await fromTwo();
        return (await ask(urls[0]!, keys[2]!, shared)).status === 200;
      });
      for (const url of urls) {
        for (const key of keys) await waitFor('a good key', async () => (await ask(url, key, shared)).status === 200);
        expect((await ask(url, wrong, shared)).status).toBe(429);
      }
    });
  });

  it('becomes a shared one by keys that were in use, however many others are tried, and is one in its next block', async () => {
    await withPlatform(async (platform) => {
      const keys = await Promise.all(Array.from({ length: 3 }, async () => (await platform.account()).key));
      const shared = '198.51.100.12';
      for (const key of keys) expect((await ask(platform.gatewayUrl, key, '198.51.100.13')).status).toBe(200);
      // Later, when none of them is fresh; and then time stands still, so that one key more is looked up and no other.
      const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 70_000);
      try {
        await blockAt(platform.gatewayUrl, shared);
        const statuses: number[] = [];
        for (const key of [newKey('live'), ...keys])
          statuses.push((await ask(platform.gatewayUrl, key, shared)).status);
        expect(statuses).toEqual([429, 429, 429, 200]);
        clock.mockReturnValue(performance.now() + 61_000);
        await waitFor('its next block', async () => (await ask(platform.gatewayUrl, wrong, shared)).status === 429);
        const { body } = await platform.admin('GET', '/admin/addresses');
        expect(body.data).toMatchObject([{ address: shared, shared: true }]);
      } finally {
        clock.mockRestore();
      }
    });
  });

  it('is refused while Redis is unavailable too', async () => {
    await withPlatform(async (platform, redis) => {
      const { key } = await platform.account();
      redis.cut();
      for (let count = 0; count < 20; count++) expect((await ask(platform.gatewayUrl, wrong)).status).toBe(401);
      expect((await ask(platform.gatewayUrl, key)).status).toBe(429);
    });
  });
});

describe('blocked addresses on the control plane', () => {
  it('are listed by every gateway, one that started since too, those that end last first', async () => {
    await withPlatform(async (platform, _redis, second) => {
      expect((await platform.admin('GET', '/admin/addresses')).body).toEqual({ data: [], has_more: false, next: null });
      for (const from of ['198.51.100.1', '198.51.100.2', '2001:db8:0:7::1']) await blockAt(second.url, from);
      const third = await startGateway(platform.env('gateway'));
      try {
        for (const { adminUrl } of [platform, third]) {
          const list = (query: string) =>
            rawRequest(adminUrl, 'GET', `/admin/addresses${query}`, { key: platform.adminToken });
          const { body } = await waitFor('the blocks', async () => {
            const response = await list('?limit=2');
            return response.body.has_more && response;
          });
          expect(body.data.map((each: { address: string }) => each.address)).toEqual([
            '2001:db8:0:7::/64',
            '198.51.100.2',
          ]);
          expect(body.data[1]).toEqual({
            address: '198.51.100.2',
            invalid_keys: 20,
            blocked_until: expect.stringMatching(/\+00:00$/),
            shared: false,
          });
          const rest = (await list(`?limit=2&starting_after=${encodeURIComponent(body.next)}`)).body;
          expect([rest.data.length, rest.data[0].address, rest.has_more]).toEqual([1, '198.51.100.1', false]);
          for (const cursor of ['', 'x', '203.0.113.1']) {
            const refused = await list(`?starting_after=${cursor}`);
            expect([refused.status, refused.body.error.field]).toEqual([400, 'starting_after']);
          }
        }
      } finally {
        await third.stop();
      }
    });
  });

  it('are unblocked everywhere, and their count begins again; what is not blocked is 404', async () => {
    await withPlatform(async (platform, _redis, second) => {
      const { key } = await platform.account();
      for (const [from, path] of [
        ['198.51.100.3', '198.51.100.3'],
        ['2001:db8:0:8::1', '2001:db8:0:8::2'],
        ['2001:db8:0:9::1', encodeURIComponent('2001:db8:0:9::/64')],
      ] as const) {
        await blockAt(second.url, from);
        for (const { url } of [{ url: platform.gatewayUrl }, second])
          await waitFor('the block', async () => (await ask(url, key, from)).status === 429);
        const lift = () => platform.admin('DELETE', `/admin/addresses/${path}`);
        const lifted = await lift();
        expect([lifted.status, lifted.text]).toEqual([204, '']);
        for (const { url } of [{ url: platform.gatewayUrl }, second])
          await waitFor('the end of the block', async () => (await ask(url, key, from)).status === 200);
        for (let count = 0; count < 19; count++) expect((await ask(second.url, wrong, from)).status).toBe(401);
        expect((await ask(second.url, key, from)).status).toBe(200);
        const again = await lift();
        expect([again.status, again.body.error.code]).toEqual([404, 'not_found']);
      }
      expect((await platform.admin('DELETE', '/admin/addresses/none')).status).toBe(404);
    });
  });

  it('stay unblocked, whatever a gateway says that had not heard of it; blocked again they are blocked', async () => {
    await withPlatform(async (platform) => {
      const { NATS_URL, BUS_PREFIX } = platform.env('gateway') as { NATS_URL: string; BUS_PREFIX: string };
      const log = createLogger('test', 'silent');
      const bus = await Bus.connect(NATS_URL, { prefix: BUS_PREFIX, service: 'gateway', log });
      const say = (message: object) => bus.announce('gateway-addresses', JSON.stringify(message));
      const blocks = (address: string, isNew: boolean, accounts: string[] = [], leftMs = 60_000) => {
        const block = { address, invalidKeys: 20, until: '2026-01-01T00:00:00Z', leftMs, accounts };
        say({ kind: 'blocks', blocks: [block], isNew });
      };
      const all = async () => (await platform.admin('GET', '/admin/addresses')).body.data;
      const listed = async () => (await all()).map((one: { address: string }) => one.address);
      for (const address of ['198.51.100.20', '198.51.100.21']) {
        blocks(address, true);
        say({ kind: 'unblock', address });
        blocks(address, false);
      }
      // Told of again by messages that took their time, it is no newer than its unblock.
      blocks('198.51.100.22', true, [], 30_000);
      blocks('198.51.100.22', false);
      say({ kind: 'unblock', address: '198.51.100.22', ageMs: 15_000 });
      blocks('198.51.100.21', true);
      blocks('198.51.100.23', true);
      await waitFor('the last', async () => (await listed()).includes('198.51.100.23'));
      expect((await listed()).sort()).toEqual(['198.51.100.21', '198.51.100.23']);
      // What is said of it from then on is of the new block.
      blocks('198.51.100.21', false, ['a', 'b', 'c']);
      const isShared = (one: { address: string; shared: boolean }) => one.address === '198.51.100.21' && one.shared;
      await waitFor('its accounts', async () => (await all()).some(isShared));
      await bus.close();
    });
  });

  it('are unblocked as well at a gateway that was without the bus meanwhile, and blocked by it', async () => {
    await withPlatform(async (platform, _redis, second) => {
      const nats = await startRelay(platform.env('gateway').NATS_URL!);
      const away = await startGateway({ ...platform.env('gateway'), NATS_URL: nats.url });
      const urls = [platform.gatewayUrl, second.url, away.url];
      const { key } = await platform.account();
      const statuses = (from: string) => Promise.all(urls.map(async (url) => (await ask(url, key, from)).status));
      const expectStatuses = (from: string, wanted: number[]) =>
        waitFor(`${from}: ${wanted}`, async () => String(await statuses(from)) === String(wanted));
      try {
        await blockAt(platform.gatewayUrl, '198.51.100.30');
        await expectStatuses('198.51.100.30', [429, 429, 429]);
        nats.cut();
        expect((await platform.admin('DELETE', '/admin/addresses/198.51.100.30')).status).toBe(204);
        await expectStatuses('198.51.100.30', [200, 200, 429]);
        await blockAt(away.url, '198.51.100.31');
        nats.mend();
        await expectStatuses('198.51.100.30', [200, 200, 200]);
        await expectStatuses('198.51.100.31', [429, 429, 429]);
        // Nobody says of it from now on that it is blocked.
        expect(await statuses('198.51.100.30')).toEqual([200, 200, 200]);
      } finally {
        await away.stop();
        await nats.stop();
      }
    });
  });

  it('stay what they are, whatever is said of them on the bus', async () => {
    await withPlatform(async (platform) => {
      const { NATS_URL, BUS_PREFIX } = platform.env('gateway') as { NATS_URL: string; BUS_PREFIX: string };
      const log = createLogger('test', 'silent');
      const bus = await Bus.connect(NATS_URL, { prefix: BUS_PREFIX, service: 'calendar', log });
      for (const rubbish of ['', 'no JSON', '{}', '{"kind":"blocks","blocks":[{}],"isNew":true}', '{"kind":"unblock"}'])
        bus.announce('gateway-addresses', rubbish);
      await bus.close();
      await blockAt(platform.gatewayUrl, '198.51.100.4');
      expect((await platform.admin('GET', '/admin/addresses')).body.data).toHaveLength(1);
    });
  });
});
