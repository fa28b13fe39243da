import { randomBytes } from 'node:crypto';
import { databaseUrl, provision, roleUrl } from '@customer-platform/deploy/provision';

/** Creates an empty database that no process uses, and returns its URL for the service. */
export async function ownDatabase(): Promise<string> {
  const server = process.env.TEST_DATABASE_URL!;
  const database = `test_${randomBytes(6).toString('hex')}`;
  await provision(server, { database, roles: [{ name: 'webhooks', password: 'test-only' }] });
  return roleUrl(databaseUrl(server, database), 'webhooks', 'test-only');
}
