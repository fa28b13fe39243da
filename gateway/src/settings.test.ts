import { readConfig } from '@customer-platform/service-kit';
import { describe, expect, it } from '@jest/globals';
import { isInRanges } from './http/request-head.ts';
import { redisServers } from './limits/redis-settings.ts';
import { gatewayConfig } from './settings.ts';

const needed = {
  DATABASE_URL: 'postgres://x',
  NATS_URL: 'nats://x',
  REDIS_URL: 'redis://x',
  CONTEXT_SECRET: 'c'.repeat(32),
  ADMIN_TOKEN: 'a'.repeat(32),
};

describe("the gateway's settings", () => {
  it('have few required values', () => {
    expect(readConfig(gatewayConfig, needed)).toMatchObject({
      GATEWAY_HOST: '127.0.0.1',
      GATEWAY_PORT: 8080,
      ADMIN_HOST: '127.0.0.1',
      ADMIN_PORT: 8081,
      TRUSTED_PROXIES: [],
    });
  });

  it('report everything missing or invalid at once', () => {
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

  it('read proxies mapped into IPv6 as IPv4, and refuse ranges that contain no proxy or too many addresses', () => {
    const ranges = (TRUSTED_PROXIES: string) =>
      readConfig(gatewayConfig, { ...needed, TRUSTED_PROXIES }).TRUSTED_PROXIES;
    expect(isInRanges('10.1.2.3', ranges('::ffff:10.0.0.0/104'))).toBe(true);
    expect(() => ranges('::ffff:0:0/80')).toThrow(/^ *TRUSTED_PROXIES: .*IPv4 range/m);
    for (const tooWide of ['0.0.0.0/0', '::/0', '::ffff:0:0/96', '8.0.0.0/7', '2000::/15']) {
      expect(() => ranges(tooWide)).toThrow(/^ *TRUSTED_PROXIES: .*must have a prefix of \//m);
    }
    expect(ranges('10.0.0.0/8,2000::/16,::ffff:10.0.0.0/104')).toHaveLength(3);
  });

  it.each([
    [{ REDIS_URL: 'x:6379' }, /^ *REDIS_URL: must be a URL with redis:\/\/ or rediss:\/\/ and a host/m],
    [{ REDIS_URL: 'redis://:%zz@x' }, /^ *REDIS_URL: must be a URL/m],
    [{ REDIS_MODE: 'cluster', REDIS_URL: 'redis://a,b:6379' }, /^ *REDIS_URL: must be a URL/m],
    [{ REDIS_MODE: 'cluster', REDIS_URL: 'redis://a,redis://b:none' }, /^ *REDIS_URL: .*; number 2 is not/m],
    [{ REDIS_URL: 'redis://a,redis://b' }, /REDIS_URL: must be one URL/],
    [{ REDIS_MODE: 'sharded' }, /^ *REDIS_MODE: .*"single"\|"cluster"\|"sentinel"/m],
    [{ REDIS_MODE: 'cluster', REDIS_URL: 'redis://a,rediss://b' }, /^ *REDIS_URL: .*one scheme/m],
    [{ REDIS_MODE: 'cluster', REDIS_URL: 'redis://:p@a,redis://:q@b' }, /^ *REDIS_URL: .*one user and password/m],
    [{ REDIS_MODE: 'sentinel', REDIS_URL: 'redis://a,redis://:q@b' }, /^ *REDIS_URL: .*one user and password/m],
    [{ REDIS_MODE: 'cluster', REDIS_URL: 'redis://a/1' }, /^ *REDIS_URL: must name no database/m],
    [{ REDIS_MODE: 'sentinel', REDIS_URL: 'redis://a/1,redis://b/2' }, /^ *REDIS_URL: .*one database/m],
    [{ REDIS_MODE: 'sentinel', REDIS_URL: 'redis://a?family=6' }, /^ *REDIS_URL: must have no \?options/m],
    [{ REDIS_MODE: 'cluster', REDIS_PREFIX: 'a{b}' }, /^ *REDIS_PREFIX: must have no \{/m],
    [{ REDIS_SENTINEL_PASSWORD: 'secret' }, /^ *REDIS_SENTINEL_PASSWORD: must be left out with REDIS_MODE=single/m],
  ])('refuse the Redis values %j by name with the remedy and without passwords', (wrong, message) => {
    const read = () => readConfig(gatewayConfig, { ...needed, ...wrong });
    expect(read).toThrow(message);
    expect(read).not.toThrow(/secret|:q@|%zz/);
  });

  it.each([
    [{ REDIS_URL: 'redis://:a,b@x:6379/3' }],
    [{ REDIS_MODE: 'cluster', REDIS_URL: 'rediss://anna:p@a, rediss://b:7000/,rediss://[::1]' }],
    [{ REDIS_MODE: 'sentinel', REDIS_URL: 'redis://:p@a/2,redis://b', REDIS_SENTINEL_PASSWORD: 'q' }],
  ])('accept the Redis values %j', (sound) => {
    expect(readConfig(gatewayConfig, { ...needed, ...sound })).toMatchObject(sound);
  });

  it('of several Redis servers become hosts, and the credentials in the first URL apply to all', () => {
    expect(redisServers('rediss://anna:p%40@a, rediss://[::1]:7000,rediss://b/', 26_379)).toEqual({
      hosts: [
        { host: 'a', port: 26_379 },
        { host: '::1', port: 7_000 },
        { host: 'b', port: 26_379 },
      ],
      username: 'anna',
      password: 'p@',
      database: 0,
      isTls: true,
    });
  });

  it('each have a description', () => {
    for (const [name, setting] of Object.entries(gatewayConfig.shape)) {
      expect([name, setting.meta()?.description?.length]).toEqual([name, expect.any(Number)]);
    }
  });
});
