import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { describeProcess, gateway, type Platform, services } from './deployables.ts';

describe('the environment of a process', () => {
  const root = mkdtempSync(join(tmpdir(), 'repository-'));
  const platform: Platform = {
    root,
    directory: join(root, '.platform'),
    databaseUrl: 'postgres://postgres:superuser-password@127.0.0.1:5432/platform',
    natsUrl: (name) => `nats://${name}:${name}-bus-password@127.0.0.1:4222`,
    redisUrl: 'redis://:redis-password@127.0.0.1:6379',
    gatewayPort: 8080,
    adminPort: 8081,
    ports: Object.fromEntries(services.map(({ name }, index) => [name, 21_000 + index])),
    secrets: {
      ADMIN_TOKEN: 'admin-token',
      TRACE_TOKEN: 'trace-token',
      CONTEXT_SECRET: 'context-secret',
      WEBHOOKS_SECRET_KEY: 'webhooks-key',
      AGENTS_SECRET_KEY: 'agents-key',
      MESSAGING_SECRET_KEY: 'messaging-key',
      REDIS_PASSWORD: 'redis-password',
      bus: Object.fromEntries([gateway, ...services].map(({ name }) => [name, `${name}-bus-password`])),
      roles: Object.fromEntries([gateway, ...services].map(({ name }) => [name, `${name}-password`])),
    },
  };
  const before = { ...process.env };
  afterEach(() => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  });
  for (const { entry } of [gateway, ...services]) {
    mkdirSync(join(root, entry, '..'), { recursive: true });
    writeFileSync(join(root, entry), '');
  }
  const environmentOf = (name: string) => {
    const deployable = [gateway, ...services].find((one) => one.name === name);
    if (deployable === undefined) throw new Error(`no deployable is named ${name}`);
    return describeProcess(deployable, platform).env;
  };

  it("has its own role's database URL and no secret of another process", () => {
    expect(environmentOf('calendar').DATABASE_URL).toBe(
      'postgres://platform_calendar:calendar-password@127.0.0.1:5432/platform',
    );
    for (const { name } of services) {
      const told = JSON.stringify(environmentOf(name));
      expect(told).not.toContain('admin-token');
      expect(told).not.toContain('superuser-password');
      expect(told).not.toContain('redis-password');
      expect(told.split('-bus-password')).toHaveLength(2);
      expect(told).toContain(`${name}-bus-password`);
      expect(told.includes('webhooks-key')).toBe(name === 'webhooks');
      expect(told.includes('agents-key')).toBe(name === 'agents');
      expect(told.includes('messaging-key')).toBe(name === 'messaging');
    }
    expect(JSON.stringify(environmentOf('gateway'))).not.toContain('webhooks-key');
    for (const { name } of services)
      expect(environmentOf('gateway')[`${name.toUpperCase()}_URL`]).toBe(`http://127.0.0.1:${platform.ports[name]}`);
  });

  it("prefers the caller's settings to the launcher's defaults", () => {
    const said = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', DATABASE_POOL: '7' };
    Object.assign(process.env, said);
    expect(environmentOf('cdp')).toMatchObject({ ...said, LOG_LEVEL: 'warn' });
    expect(environmentOf('webhooks').WEBHOOKS_ALLOWED_RANGES).toBe('127.0.0.0/8,::1/128');
    process.env.WEBHOOKS_ALLOWED_RANGES = '10.0.0.0/8';
    expect(environmentOf('webhooks').WEBHOOKS_ALLOWED_RANGES).toBe('10.0.0.0/8');
  });

  it('has settings of a server only if the caller sets its URL', () => {
    const settings = { REDIS_MODE: 'sentinel', DATABASE_POOLER: 'transaction', NATS_TLS_CA_FILE: '/etc/ca.pem' };
    Object.assign(process.env, settings);
    for (const name of Object.keys(settings)) expect(environmentOf('gateway')).not.toHaveProperty(name);
    expect(environmentOf('gateway').REDIS_URL).toBe(platform.redisUrl);
    Object.assign(process.env, { REDIS_URL: 'redis://a', NATS_URL: 'nats://a', DATABASE_URL: 'postgres://a' });
    expect(environmentOf('gateway')).toMatchObject(settings);
  });

  it('needs the entry file: an error says that it is missing', () => {
    rmSync(join(root, gateway.entry));
    expect(() => environmentOf('gateway')).toThrow(/gateway\/src\/main.ts is missing/);
    expect(readFileSync(join(root, services[0]?.entry ?? ''), 'utf8')).toBe('');
    rmSync(root, { recursive: true });
  });
});
