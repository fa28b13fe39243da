import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { describeProcess, gateway, type Platform, services } from './deployables.ts';
import {
  choosePorts,
  claimDirectory,
  deleteData,
  loadSecrets,
  openDirectory,
  releaseDirectory,
} from './platform-directory.ts';
import { processIdentity, recordProcess } from './supervisor/process-record.ts';

describe("the platform's directory", () => {
  let directory = '';

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'platform-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  it('keeps its secrets, lets only its user read them, and gives a new service a password', () => {
    const first = loadSecrets(directory, ['calendar']);
    expect(statSync(join(directory, 'secrets.json')).mode & 0o777).toBe(0o600);
    expect(first.CONTEXT_SECRET).toMatch(/^[0-9a-f]{64}$/);
    expect(Buffer.from(first.WEBHOOKS_SECRET_KEY, 'base64')).toHaveLength(32);
    const second = loadSecrets(directory, ['calendar', 'crm']);
    expect(second).toEqual({
      ...first,
      roles: { ...first.roles, crm: second.roles.crm },
      bus: { ...first.bus, crm: second.bus.crm },
    });
    const passwords = [...Object.values(second.roles), ...Object.values(second.bus), second.REDIS_PASSWORD];
    expect(new Set(passwords).size).toBe(5);
  });

  it('of an earlier version gets the secrets it lacks and keeps those it has', () => {
    const { bus: _, REDIS_PASSWORD: __, ...earlier } = loadSecrets(directory, ['calendar']);
    writeFileSync(join(directory, 'secrets.json'), JSON.stringify(earlier));
    const now = loadSecrets(directory, ['calendar']);
    expect(now).toMatchObject(earlier);
    for (const password of [now.bus.calendar, now.REDIS_PASSWORD]) expect(password).toMatch(/^[\w-]{32}$/);
  });

  it('keeps its ports and chooses again where one is taken', async () => {
    const first = await choosePorts(directory, ['calendar', 'cdp']);
    expect(await choosePorts(directory, ['calendar', 'cdp'])).toEqual(first);
    const taker = createServer().listen(first.cdp, '127.0.0.1');
    await once(taker, 'listening');
    const second = await choosePorts(directory, ['calendar', 'cdp']);
    taker.close();
    expect(second.calendar).toBe(first.calendar);
    expect(second.cdp).not.toBe(first.cdp);
  });

  it('deletes its data, not what a link in it leads to, and keeps the downloads', () => {
    const inside = openDirectory(join(directory, '.platform'));
    const outside = join(directory, 'outside');
    for (const folder of [outside, join(inside, 'postgres'), join(inside, 'debian')]) mkdirSync(folder);
    writeFileSync(join(outside, 'kept'), '');
    symlinkSync(outside, join(inside, 'link'));
    deleteData(inside);
    expect(['postgres', 'link', 'debian'].map((name) => existsSync(join(inside, name)))).toEqual([false, false, true]);
    expect(existsSync(join(outside, 'kept'))).toBe(true);
  });

  it('may not itself be a link', () => {
    symlinkSync(tmpdir(), join(directory, '.platform'));
    expect(() => openDirectory(join(directory, '.platform'))).toThrow(/not a link/);
  });

  it('belongs to one launcher at a time, and a fresh start takes it over', async () => {
    const other = spawn(process.execPath, ['-e', 'console.log(); setInterval(() => {}, 1000)'], { detached: true });
    await once(other.stdout, 'data');
    recordProcess(join(directory, 'launcher.json'), other.pid ?? 0, 'SIGTERM');
    await expect(claimDirectory(directory, false)).rejects.toThrow(`it runs already (process ${other.pid})`);
    releaseDirectory(directory);
    expect(existsSync(join(directory, 'launcher.json'))).toBe(true);
    await claimDirectory(directory, true);
    expect(processIdentity(other.pid ?? 0)).toBeNull();
    releaseDirectory(directory);
    expect(existsSync(join(directory, 'launcher.json'))).toBe(false);
  });

  it('is cleared of what a killed launcher left running', async () => {
    const orphan = spawn(process.execPath, ['-e', 'console.log(); setInterval(() => {}, 1000)'], { detached: true });
    await once(orphan.stdout, 'data');
    recordProcess(join(directory, 'run', 'calendar.json'), orphan.pid ?? 0, 'SIGTERM');
    await claimDirectory(directory, false);
    expect(processIdentity(orphan.pid ?? 0)).toBeNull();
  });
});

describe('what a process is told', () => {
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
  for (const { entry } of [gateway, ...services]) {
    mkdirSync(join(root, entry, '..'), { recursive: true });
    writeFileSync(join(root, entry), '');
  }
  const environmentOf = (name: string) => {
    const deployable = [gateway, ...services].find((one) => one.name === name);
    if (deployable === undefined) throw new Error(`no deployable is named ${name}`);
    return describeProcess(deployable, platform).env;
  };

  it("is its own role's database and no secret of another process", () => {
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
  });

  it('is, for the gateway, where every service answers', () => {
    for (const { name } of services) {
      expect(environmentOf('gateway')[`${name.toUpperCase()}_URL`]).toBe(`http://127.0.0.1:${platform.ports[name]}`);
    }
  });

  it("is the caller's own settings, before the launcher's defaults", () => {
    process.env.OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:4318';
    process.env.WEBHOOKS_ALLOWED_RANGES = '10.0.0.0/8';
    try {
      expect(environmentOf('cdp').OTEL_EXPORTER_OTLP_ENDPOINT).toBe('http://127.0.0.1:4318');
      expect(environmentOf('webhooks').WEBHOOKS_ALLOWED_RANGES).toBe('10.0.0.0/8');
    } finally {
      delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
      delete process.env.WEBHOOKS_ALLOWED_RANGES;
    }
    expect(environmentOf('webhooks').WEBHOOKS_ALLOWED_RANGES).toBe('127.0.0.0/8,::1/128');
    expect(environmentOf('cdp').LOG_LEVEL).toBe('warn');
  });

  it('is nothing when its entry file is missing: that is said instead', () => {
    rmSync(join(root, gateway.entry));
    expect(() => environmentOf('gateway')).toThrow(/gateway\/src\/main.ts is missing/);
    expect(readFileSync(join(root, services[0]?.entry ?? ''), 'utf8')).toBe('');
    rmSync(root, { recursive: true });
  });
});
