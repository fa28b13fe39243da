import { gateway, services } from '@customer-platform/deploy/deployables';
import { databaseUrl, provision, roleUrl } from '@customer-platform/deploy/provision';
import { kitMigrations, migrate } from '@customer-platform/service-kit';
import postgres from 'postgres';

/** Password of all roles of a test. */
export const testPassword = 'test-only';
const template = 'template_platform';

/**
 * Creates a database with the migrated schema and all roles, as a copy of the run's template database. The first caller in a run creates the
 * template: applying migrations for each test file would take most of its time.
 *
 * @param server URL of the server's administrator
 */
export async function createTestDatabase(server: string, database: string): Promise<void> {
  const admin = postgres(server, { max: 1, onnotice: () => undefined });
  try {
    await admin`select pg_advisory_lock(hashtextextended(${template}, 0))`;
    const [made] = await admin`select from pg_database where datname = ${template} and datistemplate`;
    if (!made) await makeTemplate(server, admin);
    await admin`select pg_advisory_unlock(hashtextextended(${template}, 0))`;
    await admin`create database ${admin(database)} template ${admin(template)}`;
    await copySettings(admin, database);
  } finally {
    await admin.end({ timeout: 5 });
  }
}

async function makeTemplate(server: string, admin: postgres.Sql): Promise<void> {
  const names = [gateway, ...services].map(({ name }) => name);
  await provision(server, { database: template, roles: names.map((name) => ({ name, password: testPassword })) });
  await Promise.all(
    [gateway, ...services].map(async ({ name, entry }) => {
      const migrations = new URL(`../../../${entry.replace('src/main.ts', 'migrations/')}`, import.meta.url);
      const url = roleUrl(databaseUrl(server, template), name, testPassword);
      await migrate(url, name, [kitMigrations, migrations]);
    }),
  );
  await admin`alter database ${admin(template)} is_template true`;
}

/** Copies the roles' settings from the template: PostgreSQL stores them outside the database and does not copy them. */
async function copySettings(admin: postgres.Sql, database: string): Promise<void> {
  const settings = await admin<{ statement: string }[]>`
    select format('alter role %s in database %I set %s to %s', setrole::regrole, ${database}::text,
      split_part(setting, '=', 1), substr(setting, strpos(setting, '=') + 1)) as statement
    from pg_db_role_setting, unnest(setconfig) as setting
    where setdatabase = (select oid from pg_database where datname = ${template})`;
  await admin.unsafe(settings.map(({ statement }) => statement).join(';'));
}
