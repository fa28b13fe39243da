import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
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

  /** Starts and records a process that runs until SIGTERM. */
  async function startRecorded(file: string): Promise<number> {
    const child = spawn(process.execPath, ['-e', 'console.log(); setInterval(() => {}, 1000)'], { detached: true });
    await once(child.stdout, 'data');
    recordProcess(join(directory, file), child.pid!, 'SIGTERM');
    return child.pid!;
  }

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

  it('adds missing secrets to a file of an earlier version and keeps the others', () => {
    const { bus: _, REDIS_PASSWORD: __, ...earlier } = loadSecrets(directory, ['calendar']);
    writeFileSync(join(directory, 'secrets.json'), JSON.stringify(earlier));
    const now = loadSecrets(directory, ['calendar']);
    expect(now).toMatchObject(earlier);
    for (const password of [now.bus.calendar, now.REDIS_PASSWORD]) expect(password).toMatch(/^[\w-]{32}$/);
  });

  it('keeps its ports and replaces a port that is in use or assigned elsewhere', async () => {
    const first = await choosePorts(directory, ['calendar', 'cdp']);
    expect(await choosePorts(directory, ['calendar', 'cdp'])).toEqual(first);
    const taker = createServer().listen(first.cdp, '127.0.0.1');
    await once(taker, 'listening');
    const second = await choosePorts(directory, ['calendar', 'cdp']);
    taker.close();
    expect(second.calendar).toBe(first.calendar);
    expect(second.cdp).not.toBe(first.cdp);
    const third = await choosePorts(directory, ['calendar', 'cdp'], [second.cdp!]);
    expect([third.calendar, third.cdp === second.cdp]).toEqual([second.calendar, false]);
  });

  it('deletes its data, but not the target of a link, and keeps downloads', () => {
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
    const other = await startRecorded('launcher.json');
    await expect(claimDirectory(directory, false)).rejects.toThrow(`the platform already runs (process ${other})`);
    releaseDirectory(directory);
    expect(existsSync(join(directory, 'launcher.json'))).toBe(true);
    await claimDirectory(directory, true);
    expect(processIdentity(other)).toBeNull();
    releaseDirectory(directory);
    expect(existsSync(join(directory, 'launcher.json'))).toBe(false);
  });

  it('stops processes that a killed launcher left running', async () => {
    const orphan = await startRecorded('run/calendar.json');
    await claimDirectory(directory, false);
    expect(processIdentity(orphan)).toBeNull();
  });
});
