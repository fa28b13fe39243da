import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { databaseUrl, provision, roleUrl } from '@customer-platform/deploy/provision';
import { type Platform, startPlatform, startRelay } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Bus } from '../bus/bus.ts';
import { parseServers } from '../bus/bus-connection.ts';
import { openDatabase } from '../database/database.ts';
import { createLogger } from '../telemetry/logging.ts';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
});
afterAll(async () => {
  await platform?.stop();
});

describe('a process that starts while NATS is unavailable', () => {
  it('serves requests that need no bus, and publishes its events when NATS is back', async () => {
    const relay = await startRelay(platform.env('crm').NATS_URL!);
    relay.cut();
    const cut = await startPlatform({ services: ['crm'], env: { NATS_URL: relay.url } });
    try {
      const account = await cut.account();
      await account.client.crm.pipelines.create({ body: { name: 'Sales', stages: [{ name: 'New' }] } });
      const [first] = (await account.client.crm.pipelines.list({})).data;
      expect((await fetch(`${cut.gatewayUrl}/readyz`)).status).toBe(200);
      // A deal with a contact needs a request over the bus; a deal without one does not.
      const deal = await account.client.crm.deals.create({ body: { title: 'Early', pipeline: first!.id } });
      relay.mend();
      const event = await cut.event(account.id, 'deal.created');
      expect(event.data.deal.id).toBe(deal.id);
    } finally {
      await cut.stop();
      await relay.stop();
    }
  }, 60_000);

  it('can be stopped before NATS is available', async () => {
    const log = createLogger('test', 'silent');
    const bus = await Bus.connect('nats://127.0.0.1:1', { prefix: 'x', service: 'crm', log });
    expect(bus.isConnected()).toBe(false);
    await bus.close();
  });

  it('can be stopped while NATS does not respond', async () => {
    const relay = await startRelay(platform.env('crm').NATS_URL!);
    const bus = await Bus.connect(relay.url, { prefix: 'x', service: 'crm', log: createLogger('test', 'silent') });
    expect(bus.isConnected()).toBe(true);
    relay.silence();
    await bus.close();
    await relay.stop();
  });
});

it('reads lists of NATS servers with user and password', () => {
  expect(parseServers('nats://a:4223, tls://us%40er:p%3Aw@b')).toEqual({
    servers: ['a:4223', 'b:4222'],
    user: 'us@er',
    pass: 'p:w',
    tls: {},
  });
  expect(parseServers('127.0.0.1:4222')).toEqual({ servers: ['127.0.0.1:4222'] });
  expect(parseServers('TLS://a:4222').tls).toEqual({});
  expect(() => parseServers('nats://a,redis://b')).toThrow('not redis://');
});

describe('a process with the argument migrate', () => {
  const entry = join(import.meta.dirname, '../../../../services/crm/src/main.ts');
  const runWith = (argument: string, database: string) => {
    const env = { ...process.env, ...platform.env('crm'), DATABASE_URL: database };
    return promisify(execFile)(process.execPath, [entry, argument], { env }).then(
      ({ stdout }) => ({ code: 0, output: stdout }),
      ({ code, stderr }: { code: number; stderr: string }) => ({ code, output: stderr }),
    );
  };

  it('migrates its schema and exits, with 1 on failure', async () => {
    const server = process.env.TEST_DATABASE_URL!;
    const database = `test_migrate_${randomBytes(6).toString('hex')}`;
    await provision(server, { database, roles: [{ name: 'crm', password: 'test-only' }] });
    const url = roleUrl(databaseUrl(server, database), 'crm', 'test-only');
    const sql = openDatabase(url, { pool: 1, service: 'crm' });
    try {
      const done = await runWith('migrate', url);
      expect([done.code, done.output]).toEqual([0, expect.stringContaining('the schema of crm is up to date')]);
      expect(await sql`select from deals`).toHaveLength(0);
      expect((await runWith('migrate', url)).code).toBe(0);
      await sql`delete from migrations`;
      const failed = await runWith('migrate', url);
      expect([failed.code, failed.output]).toEqual([1, expect.stringContaining('already exists')]);
    } finally {
      await sql.end();
    }
  }, 60_000);

  it('is refused with any other argument', async () => {
    const { code, output } = await runWith('migrat', 'postgres://127.0.0.1:1/none');
    expect([code, output]).toEqual([2, expect.stringContaining('Unknown command migrat; the only command is migrate')]);
  });
});

/** Runs a process with an unhandled rejection; `stop` and `options` are code. Returns its output and exit code. */
async function runAndThrow(stop: string, options = '{}') {
  const service = pathToFileURL(join(import.meta.dirname, 'run-process.ts')).href;
  const program = `
    const { runProcess } = await import(${JSON.stringify(service)});
    await runProcess(async () => ({ url: '', stop: ${stop} }), ${options});
    Promise.reject(new Error('nobody awaits this'));
    setInterval(() => undefined, 1_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  try {
    const code = await new Promise((resolve) => child.once('close', resolve));
    return { output, code };
  } finally {
    child.kill('SIGKILL');
  }
}

describe('a process with an unhandled rejection', () => {
  it('stops in order and prints the error', async () => {
    const { output, code } = await runAndThrow("async () => console.log('stopped in order')");
    expect(output).toContain('nobody awaits this');
    expect(output).toContain('stopped in order');
    expect(code).toBe(1);
  });

  it('exits even if its stop never ends, so that its supervisor starts another', async () => {
    const { output, code } = await runAndThrow('() => new Promise(() => undefined)', '{ failedEndMs: 10 }');
    expect(output).toContain('nobody awaits this');
    expect(code).toBe(1);
  });
});
