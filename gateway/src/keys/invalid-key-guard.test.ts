import { type Platform, type Relay, rawRequest, startPlatform, startRelay, waitFor } from '@customer-platform/testkit';
import { describe, expect, it } from '@jest/globals';
import { startGateway } from '../main.ts';

const wrong = 'cp_live_0000000000000000000000000000000000000000';

const ask = (url: string, key: string | null, from?: string) =>
  rawRequest(url, 'GET', '/v1/me', { key, ...(from ? { headers: { 'x-forwarded-for': from } } : {}) });

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

  it('is refused while Redis is away too', async () => {
    await withPlatform(async (platform, redis) => {
      const { key } = await platform.account();
      redis.cut();
      for (let count = 0; count < 20; count++) expect((await ask(platform.gatewayUrl, wrong)).status).toBe(401);
      expect((await ask(platform.gatewayUrl, key)).status).toBe(429);
    });
  });
});
