import { readConfig } from '@customer-platform/service-kit';
import { describe, expect, it } from '@jest/globals';
import { isInRanges } from './client-address.ts';
import { gatewayConfig } from './settings.ts';

const needed = {
  DATABASE_URL: 'postgres://x',
  NATS_URL: 'nats://x',
  REDIS_URL: 'redis://x',
  CONTEXT_SECRET: 'c'.repeat(32),
  ADMIN_TOKEN: 'a'.repeat(32),
};

describe("the gateway's settings", () => {
  it('are few that have to be given', () => {
    expect(readConfig(gatewayConfig, needed)).toMatchObject({
      GATEWAY_HOST: '127.0.0.1',
      GATEWAY_PORT: 8080,
      ADMIN_HOST: '127.0.0.1',
      ADMIN_PORT: 8081,
      TRUSTED_PROXIES: [],
    });
  });

  it('say all at once what is missing or wrong', () => {
    const wrong = {
      ADMIN_TOKEN: 'short',
      TRUSTED_PROXIES: '10.0.0.0/8, everybody',
      CDP_URL: 'ftp://x',
      GATEWAY_PORT: '99999',
    };
    const message = (() => {
      try {
        readConfig(gatewayConfig, { ...needed, ...wrong, REDIS_URL: '' });
      } catch (error) {
        return (error as Error).message;
      }
    })();
    for (const name of [...Object.keys(wrong), 'REDIS_URL']) expect(message).toContain(`  ${name}: `);
  });

  it('read proxies mapped into IPv6 as IPv4, and refuse what no proxy can be in', () => {
    const ranges = (TRUSTED_PROXIES: string) =>
      readConfig(gatewayConfig, { ...needed, TRUSTED_PROXIES }).TRUSTED_PROXIES;
    expect(isInRanges('10.1.2.3', ranges('::ffff:10.0.0.0/104'))).toBe(true);
    expect(() => ranges('::ffff:0:0/80')).toThrow(/^ *TRUSTED_PROXIES: .*IPv4 range/m);
  });

  it('each say what they are for', () => {
    for (const [name, setting] of Object.entries(gatewayConfig.shape)) {
      expect([name, setting.meta()?.description?.length]).toEqual([name, expect.any(Number)]);
    }
  });
});
