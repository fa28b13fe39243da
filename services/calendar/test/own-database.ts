import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { databaseUrl, provision, roleUrl } from '@customer-platform/deploy/provision';
import { kitMigrations, migrate } from '@customer-platform/service-kit';

const migrations = new URL('../migrations/', import.meta.url);

/** Creates a database that no process uses, migrated up to number `last`. Returns its URL for the service. */
export async function databaseAsOf(last: string): Promise<string> {
  const server = process.env.TEST_DATABASE_URL!;
  const database = `test_${randomBytes(6).toString('hex')}`;
  await provision(server, { database, roles: [{ name: 'calendar', password: 'test-only' }] });
  const url = roleUrl(databaseUrl(server, database), 'calendar', 'test-only');
  const directory = await mkdtemp(join(tmpdir(), 'migrations-'));
  try {
    const names = (await readdir(migrations)).filter((name) => name.slice(0, 4) <= last);
    for (const name of names) await cp(fileURLToPath(new URL(name, migrations)), join(directory, name));
    await migrate(url, 'calendar', [kitMigrations, pathToFileURL(`${directory}/`)]);
  } finally {
    await rm(directory, { recursive: true });
  }
  return url;
}

/** Applies the remaining migrations. */
export const migrateOn = (url: string) => migrate(url, 'calendar', [kitMigrations, migrations]);
