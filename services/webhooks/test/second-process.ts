import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { freePort } from '@customer-platform/deploy/local-port';
import { type Platform, waitFor } from '@customer-platform/testkit';

/**
 * Starts another process of the service on the same database and bus. Once this resolves, it sends deliveries; it
 * consumes events when it gets the lease. Its sessions are named `second`. `more` overrides its settings.
 */
export async function startSecondProcess(platform: Platform, more: Record<string, string> = {}): Promise<ChildProcess> {
  const port = await freePort();
  const settings = platform.env('webhooks');
  const DATABASE_URL = `${settings.DATABASE_URL}?application_name=second`;
  const env = { PATH: process.env.PATH, ...settings, DATABASE_URL, PORT: String(port), ...more };
  const entry = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const child = spawn(process.execPath, [entry], { env, stdio: 'ignore' });
  await waitFor('the second process', async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok);
  return child;
}
