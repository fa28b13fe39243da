import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';

let platform: Platform;
let child: ChildProcess | undefined;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
});
afterEach(() => void child?.kill('SIGKILL'));
afterAll(() => platform?.stop());

const agent = new Agent({ keepAlive: true });
async function statusOf(
  url: string,
): Promise<{ status: number | undefined; connection: string | undefined } | undefined> {
  const [response] = (await once(get(url, { agent }), 'response').catch(() => [])) as IncomingMessage[];
  response?.resume();
  return response && { status: response.statusCode, connection: response.headers.connection };
}

it('a stopping process keeps serving while not ready, and closes each connection with its next response', async () => {
  const port = await freePort();
  const env = {
    ...process.env,
    ...platform.env('crm'),
    HOST: '127.0.0.1',
    PORT: String(port),
    DRAIN_DELAY_SECONDS: '300',
  };
  const entry = join(import.meta.dirname, '../../../../services/crm/src/main.ts');
  child = spawn(process.execPath, [entry], { env, stdio: 'ignore' });
  const [ready, alive] = [`http://127.0.0.1:${port}/readyz`, `http://127.0.0.1:${port}/healthz`];
  await waitFor('the service', async () => (await statusOf(ready))?.status === 200);
  expect(await statusOf(alive)).toEqual({ status: 200, connection: 'keep-alive' });
  child.kill('SIGTERM');
  await waitFor('the process to stop', async () => (await statusOf(ready))?.status === 503);
  expect(await statusOf(alive)).toEqual({ status: 200, connection: 'close' });
});
