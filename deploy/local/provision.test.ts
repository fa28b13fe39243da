import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import postgres from 'postgres';
import { freePort } from './local-port.ts';
import { databaseUrl, provision, roleUrl } from './provision.ts';
import { postgresServer } from './servers/postgres.ts';
import { startServer } from './supervisor/managed-process.ts';

const roles = [
  { name: 'calendar', password: "calendar'password" },
  { name: 'cdp', password: 'cdp/pass@word' },
];
const database = 'platform';

describe('provision', () => {
  const directory = mkdtempSync(join(tmpdir(), 'provision-'));
  let adminUrl = '';
  let stop = (): Promise<void> => Promise.resolve();
  const clients: postgres.Sql[] = [];

  const as = (name: string, where = database) => {
    const role = roles.find((one) => one.name === name);
    const sql = postgres(roleUrl(adminUrl, name, role?.password ?? '', where), { max: 1, onnotice: () => undefined });
    clients.push(sql);
    return sql;
  };

  beforeAll(async () => {
    const server = await startServer(await postgresServer({ directory, port: await freePort() }));
    adminUrl = server.url;
    stop = server.stop;
    await provision(adminUrl, { database, roles });
  }, 30_000);

  afterAll(async () => {
    await Promise.all(clients.map((sql) => sql.end({ timeout: 1 })));
    await stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it('gives each role its own schema, which its tables are created in by default', async () => {
    const sql = as('calendar');
    await sql`create table appointments (id int primary key)`;
    await sql`insert into appointments values (1)`;
    const [row] = await sql`select schemaname, tableowner from pg_tables where tablename = 'appointments'`;
    expect(row).toEqual({ schemaname: 'calendar', tableowner: 'platform_calendar' });
  });

  it("denies a role access to another role's schema", async () => {
    await as('calendar')`create table secrets (id int)`;
    const stranger = as('cdp');
    await expect(stranger`select * from calendar.secrets`).rejects.toMatchObject({ code: '42501' });
    await expect(stranger`insert into calendar.secrets values (1)`).rejects.toMatchObject({ code: '42501' });
    await expect(stranger`create table calendar.mine (id int)`).rejects.toMatchObject({ code: '42501' });
    await expect(stranger`set role platform_calendar`).rejects.toMatchObject({ code: '42501' });
  });

  it('allows no new tables in the schema public, whose extensions stay usable', async () => {
    const sql = as('cdp');
    await expect(sql`create table public.mine (id int)`).rejects.toMatchObject({ code: '42501' });
    const [row] = await sql`select similarity('Anna', 'Anne') > 0.3 as alike`;
    expect(row?.alike).toBe(true);
    await sql`create table spans (who uuid, during tstzrange, exclude using gist (who with =, during with &&))`;
  });

  it('creates roles that can create neither roles nor databases', async () => {
    await expect(as('cdp')`create role another`).rejects.toMatchObject({ code: '42501' });
    await expect(as('cdp')`create database another`).rejects.toMatchObject({ code: '42501' });
  });

  it('can run again, also concurrently, and keeps the data', async () => {
    const sql = as('calendar');
    await sql`create table kept (id int)`;
    await sql`insert into kept values (7)`;
    await Promise.all(Array.from({ length: 5 }, () => provision(adminUrl, { database, roles })));
    expect(await as('calendar')`select id from kept`).toMatchObject([{ id: 7 }]);
  });

  it('works in several databases of one server at once, with the same roles', async () => {
    const names = ['first', 'second', 'third'];
    await Promise.all(names.map((name) => provision(adminUrl, { database: name, roles })));
    for (const name of names) {
      const [row] = await as('cdp', name)`select current_schema() as schema, current_database() as database`;
      expect(row).toEqual({ schema: 'cdp', database: name });
    }
  });

  it('names the missing privilege when the role may not create roles', async () => {
    const powerless = roleUrl(adminUrl, 'calendar', roles[0]?.password ?? '', database);
    await expect(provision(powerless, { roles })).rejects.toThrow(/"platform_calendar" may not create roles/);
  });

  it('works for a database owner that may create roles but is not a superuser', async () => {
    const admin = postgres(adminUrl, { max: 1, onnotice: () => undefined });
    clients.push(admin);
    await admin`create role owner login createrole password 'owner'`;
    await admin`create database owned owner owner`;
    const url = new URL(databaseUrl(adminUrl, 'owned'));
    url.username = 'owner';
    url.password = 'owner';
    const own = [{ name: 'crm', password: 'crm' }];
    await provision(url.href, { roles: own });
    await provision(url.href, { roles: own });
    const sql = postgres(roleUrl(url.href, 'crm', 'crm'), { max: 1 });
    clients.push(sql);
    expect(await sql`select current_schema() as schema`).toMatchObject([{ schema: 'crm' }]);
  });

  it('rejects a database whose encoding is not UTF-8, and says how to create one', async () => {
    const admin = postgres(adminUrl, { max: 1, onnotice: () => undefined });
    clients.push(admin);
    await admin`create database bytes template template0 encoding 'SQL_ASCII' locale 'C'`;
    await expect(provision(databaseUrl(adminUrl, 'bytes'), { roles })).rejects.toThrow(
      /encoding of the database "bytes" is SQL_ASCII and must be UTF8/,
    );
  });

  it('rejects a name that is not a plain identifier', async () => {
    await expect(provision(adminUrl, { roles: [{ name: 'a;b', password: 'x' }] })).rejects.toThrow(
      /cannot name a schema/,
    );
  });
});
