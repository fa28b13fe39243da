import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { describeProcess, gateway, type Platform } from './deployables.ts';
import type { Secrets } from './platform-directory.ts';

const platform: Platform = {
  root: join(import.meta.dirname, '../..'),
  directory: '/nowhere',
  databaseUrl: 'postgres://127.0.0.1:1/platform',
  natsUrl: () => 'nats://127.0.0.1:2',
  redisUrl: 'redis://127.0.0.1:3',
  gatewayPort: 4,
  adminPort: 5,
  ports: {},
  secrets: { roles: {}, bus: {} } as unknown as Secrets,
};
const before = { ...process.env };

afterEach(() => {
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
});

const settings = {
  REDIS_MODE: 'sentinel',
  REDIS_SENTINEL_NAME: 'mymaster',
  DATABASE_POOLER: 'transaction',
  NATS_TLS_CA_FILE: '/etc/ca.pem',
};

it('gives a process no settings of a server that the caller does not name', () => {
  Object.assign(process.env, { ...settings, DATABASE_POOL: '7', REDIS_TIMEOUT_MS: '70' });
  const { env } = describeProcess(gateway, platform);
  for (const name of Object.keys(settings)) expect(env).not.toHaveProperty(name);
  expect(env).toMatchObject({ DATABASE_POOL: '7', REDIS_TIMEOUT_MS: '70', REDIS_URL: 'redis://127.0.0.1:3' });
});

it('gives it those of a server that the caller names', () => {
  Object.assign(process.env, {
    ...settings,
    REDIS_URL: 'redis://a',
    NATS_URL: 'nats://a',
    DATABASE_URL: 'postgres://a',
  });
  expect(describeProcess(gateway, platform).env).toMatchObject(settings);
});
