import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCommand } from './cli.ts';

let platform: Platform;
let nowhere: string;

beforeAll(async () => {
  nowhere = mkdtempSync(join(tmpdir(), 'admin-'));
  platform = await startPlatform({ services: [] });
});

afterAll(async () => {
  await platform?.stop();
  rmSync(nowhere, { recursive: true });
});

const env = () => ({ ADMIN_URL: platform.adminUrl, ADMIN_TOKEN: platform.adminToken });

async function run(...args: string[]) {
  return await runCommand(args, env(), nowhere);
}

/** Runs a command with --json and parses its output. */
async function json(...args: string[]) {
  const { exitCode, output } = await run(...args, '--json');
  expect([exitCode, output]).toEqual([0, expect.any(String)]);
  return JSON.parse(output);
}

describe('the admin tool', () => {
  it('creates, shows, changes and lists accounts', async () => {
    const flags = ['--name', 'Acme', '--timezone', 'Europe/Berlin', '--plan', '{"name":"x"}'];
    const account = await json('accounts', 'create', ...flags);
    expect(account).toMatchObject({ name: 'Acme', timezone: 'Europe/Berlin', country: 'DE', plan: { name: 'x' } });
    await json('accounts', 'update', account.id, '--status', 'suspended', '--rate-limit', '{"burst":5}');
    expect(await json('accounts', 'get', account.id)).toMatchObject({ status: 'suspended', rate_limit: { burst: 5 } });
    await json('accounts', 'create', '--name', 'Later');
    const page = await json('accounts', 'list', '--limit', '1');
    expect(page.data).toHaveLength(1);
    const next = await json('accounts', 'list', '--limit', '1', '--starting-after', page.next);
    expect(next.data[0].id).toBe(account.id);
  });

  it('issues, rotates and revokes keys', async () => {
    const account = await json('accounts', 'create', '--name', 'Keys');
    const scopes = ['--scopes', 'calendar:read,calendar:write', '--scopes', 'crm.deals:read'];
    const flags = ['--name', 'k', '--mode', 'live', ...scopes, '--allowed-addresses', '10.0.0.0/8'];
    const key = await json('keys', 'create', account.id, ...flags);
    expect(key).toMatchObject({
      scopes: ['calendar:read', 'calendar:write', 'crm.deals:read'],
      allowed_addresses: ['10.0.0.0/8'],
    });
    const successor = await json('keys', 'rotate', key.id, '--overlap-seconds', '0');
    expect(await json('keys', 'revoke', successor.id)).toEqual({});
    const { data } = await json('keys', 'list', account.id);
    expect(data.map((each: { id: string }) => each.id)).toEqual([successor.id, key.id]);
    expect(data[0].revoked_at).not.toBeNull();
  });

  it('manages team members', async () => {
    const account = await json('accounts', 'create', '--name', 'Team');
    const member = await json('members', 'add', account.id, '--name', 'Ada', '--email', 'ada@example.com');
    await json('members', 'remove', account.id, member.id);
    expect((await json('members', 'list', account.id)).data).toEqual([{ ...member, active: false }]);
  });

  it('prints one line per field, a secret only in its own response, and a table for lists', async () => {
    const { id } = await json('accounts', 'create', '--name', 'Readable');
    const key = await run('keys', 'create', id, '--name', 'k', '--mode', 'test', '--scopes', '*');
    expect(key.output).toMatch(/^key\s+cp_test_\w+$/m);
    expect((await run('keys', 'list', id)).output).not.toContain('cp_test_');
    const list = await run('accounts', 'list', '--limit', '1');
    expect(list.output).toMatch(/^id\s+name\s+status/);
    expect(list.output).toMatch(/^more: --starting-after [0-9a-f-]{36}$/m);
  });

  it('exits with 1 and the reason for an error response or no response', async () => {
    const refused = await run('accounts', 'get', 'nobody');
    expect(refused.exitCode).toBe(1);
    expect(refused.output).toMatch(/^refused \(404 not_found\): /);
    const unreachable = 'no response from the control plane at http://127.0.0.1:1 (from ADMIN_URL)';
    for (const [environment, reason] of [
      [{ ...env(), ADMIN_TOKEN: 'wrong' }, '401 invalid_key'],
      [{ ...env(), ADMIN_URL: 'http://127.0.0.1:1' }, unreachable],
      [{}, 'ADMIN_TOKEN'],
    ] as const) {
      const output = expect.stringContaining(reason);
      expect(await runCommand(['accounts', 'list'], environment, nowhere)).toEqual({ exitCode: 1, output });
    }
  });

  it('finds a local platform by the files of npm start', async () => {
    const directory = mkdtempSync(join(nowhere, 'platform-'));
    const write = (file: string, content: object) => writeFileSync(join(directory, file), JSON.stringify(content));
    const list = async (where: NodeJS.ProcessEnv) => await runCommand(['accounts', 'list'], where, directory);
    write('secrets.json', { ADMIN_TOKEN: platform.adminToken });
    const port = new URL(platform.adminUrl).port;
    expect((await list({ ADMIN_PORT: port })).exitCode).toBe(0);
    write('addresses.json', { gateway: platform.gatewayUrl, admin: platform.adminUrl });
    // A start without demo data leaves the file of an earlier start.
    write('demo.json', { admin: 'http://127.0.0.1:1', admin_token: 'of an earlier start' });
    expect((await list({})).exitCode).toBe(0);
    write('addresses.json', { admin: 'http://127.0.0.1:1' });
    for (const where of [{ ADMIN_PORT: port }, { ADMIN_URL: platform.adminUrl }]) {
      expect((await list(where)).exitCode).toBe(0);
    }
    const output = expect.stringMatching(/127\.0\.0\.1:1 \(from [^()]*addresses\.json\)/);
    expect(await list({})).toEqual({ exitCode: 1, output });
  });

  it('is a program that prints to the standard output and reports success by its exit code', async () => {
    const entry = join(import.meta.dirname, 'cli.ts');
    const start = (...args: string[]) =>
      new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
        execFile(process.execPath, [entry, ...args], { env: { ...process.env, ...env() } }, (error, stdout, stderr) => {
          resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
        });
      });
    const made = await start('accounts', 'create', '--name', 'From outside', '--json');
    expect([made.code, JSON.parse(made.stdout).name]).toEqual([0, 'From outside']);
    const wrong = await start('accounts');
    expect([wrong.code, wrong.stdout]).toEqual([2, '']);
    expect(wrong.stderr).toContain('accounts create');
  });
});
