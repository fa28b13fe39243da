import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { type ServerProcess, startServer } from '@customer-platform/deploy/managed-process';
import { postgresServer } from '@customer-platform/deploy/postgres';
import { newDataFolder, type Platform, pagesOf, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import postgres from 'postgres';

type Started = Awaited<ReturnType<typeof startServer>>;

/** Contacts that are made before the primary is killed, and after it. */
const madeEach = 100;

let directory: string;
let primary: Started;
let standby: Started;
let standbyUrl: string;
let platform: Platform;
const serverBefore = process.env.TEST_DATABASE_URL!;

/** Starts a primary that acknowledges a commit once its streaming standby has it, and the platform with both in its URLs. */
beforeAll(async () => {
  directory = newDataFolder();
  const [port, standbyPort] = [await freePort(), await freePort()];
  const described = await postgresServer({ directory: join(directory, 'primary'), port });
  const data = described.cwd;
  await (await startServer(described)).stop();
  const { username, password } = new URL(described.url);
  appendFileSync(join(data, 'pg_hba.conf'), 'host replication all 127.0.0.1/32 scram-sha-256\n');
  const second = await postgresServer({ directory: join(directory, 'standby'), port: standbyPort });
  cpSync(data, second.cwd, { recursive: true });
  chmodSync(second.cwd, 0o700);
  const ofPrimary = `host=127.0.0.1 port=${port} user=${username} password=${password} application_name=standby`;
  configure(second, `primary_conninfo = '${ofPrimary}'\n`);
  writeFileSync(join(second.cwd, 'standby.signal'), '');
  if (second.owner) execFileSync('chown', ['-R', `${second.owner.uid}:${second.owner.gid}`, second.cwd]);
  configure(described, "synchronous_standby_names = 'standby'\n");
  standbyUrl = described.url.replace(`:${port}/`, `:${standbyPort}/`);
  primary = await startServer(described);
  standby = await startServer({ ...second, ready: () => isUp(standbyUrl) });
  await waitFor('the standby to stream', async () => {
    const [row] = await ask(described.url, (sql) => sql`select sync_state from pg_stat_replication`);
    return row?.sync_state === 'sync';
  });
  process.env.TEST_DATABASE_URL = described.url;
  platform = await startPlatform({
    services: ['cdp', 'crm', 'webhooks'],
    env: { LOG_LEVEL: 'silent' },
    databaseEnv: (direct) => ({
      DATABASE_URL: `${direct.replace(`:${port}/`, `:${port},127.0.0.1:${standbyPort}/`)}?target_session_attrs=primary`,
    }),
  });
}, 120_000);
afterAll(async () => {
  process.env.TEST_DATABASE_URL = serverBefore;
  await platform?.stop();
  await standby?.stop();
  await primary?.stop();
  rmSync(directory, { recursive: true, force: true });
}, 60_000);

function configure({ cwd }: ServerProcess, settings: string): void {
  appendFileSync(join(cwd, 'postgresql.auto.conf'), settings);
}

async function ask<Result>(url: string, work: (sql: postgres.Sql) => Promise<Result>): Promise<Result> {
  const sql = postgres(url, { max: 1, connect_timeout: 2, onnotice: () => undefined });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const isUp = (url: string) =>
  ask(url, (sql) => sql`select`).then(
    () => true,
    () => false,
  );

it('goes on with a standby that is promoted, without a restart, and has every write that was acknowledged', async () => {
  const account = await platform.account();
  const acknowledged: string[] = [];
  let isOver = false;
  const client = async () => {
    while (!isOver) {
      const response = await account.request('POST', '/v1/cdp/contacts', { body: { name: 'Ada' } });
      if (response.status === 201) acknowledged.push(response.body.id);
      else expect(response.status).toBe(503);
    }
  };
  const clients = Array.from({ length: 4 }, client);
  const more = async () => {
    const until = acknowledged.length + madeEach;
    await waitFor('more contacts', () => acknowledged.length >= until);
  };
  await more();
  process.kill(primary.pid, 'SIGKILL');
  await ask(standbyUrl, (sql) => sql`select pg_promote()`);
  // The bound of waitFor is the one that is promised: 30 s.
  await more();
  isOver = true;
  await Promise.all(clients);
  const { data } = await pagesOf((query) => account.client.listContacts({ query }));
  const kept = new Set(data.map(({ id }) => id));
  expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
  await waitFor('the events', async () => {
    const { data: events } = await pagesOf((query) =>
      account.client.listEvents({ query: { ...query, type: 'contact.created' } }),
    );
    return events.length >= acknowledged.length;
  });
}, 180_000);
