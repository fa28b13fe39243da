import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { exampleMember, fillSandbox } from '@customer-platform/deploy/demo/demo-sandbox';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cacheVariables, findPython } from './environment.ts';

const folder = import.meta.dirname;
const found = findPython();

// If this machine cannot run the tests, a skipped test names the reason.
if ('missing' in found) it.skip(found.missing, () => undefined);
else describe('the Python client', () => testsWith(found.python));

function testsWith(python: string): void {
  /** Runs a Python program while this process serves the platform. Rejects with the program's output if it fails. */
  const run = async (args: string[], env: Record<string, string> = {}) => {
    const options = { cwd: folder, env: { ...process.env, ...cacheVariables, ...env }, timeout: 280_000 };
    await promisify(execFile)(python, args, options).catch((error: { message: string; stdout: string }) => {
      throw new Error(`${error.message}\n${error.stdout}`);
    });
  };

  it('matches the output of its generator', () => run(['generate.py', '--check']), 300_000);

  it('passes ruff and strict mypy', async () => {
    await run(['-m', 'ruff', 'format', '--check']);
    await run(['-m', 'ruff', 'check']);
    await run(['-m', 'mypy']);
  }, 300_000);

  describe('packed and installed', () => {
    const work = mkdtempSync(join(tmpdir(), 'client-python-'));
    let platform: Platform;
    beforeAll(async () => {
      const packed = ['pyproject.toml', 'README.md', 'LICENSE', 'src'];
      const archive = join(work, 'client-python.tar.gz');
      const { stderr, status } = spawnSync('tar', ['-czf', archive, '-C', folder, ...packed], { encoding: 'utf8' });
      expect([status, stderr]).toEqual([0, '']);
      // The environment already has the dependencies and the build backend, so pip needs no network.
      const offline = ['--no-index', '--no-deps', '--no-build-isolation'];
      await run(['-m', 'pip', 'install', ...offline, '--target', join(work, 'site'), archive]);
      platform = await startPlatform();
    }, 300_000);
    afterAll(async () => {
      await platform?.stop();
      rmSync(work, { recursive: true, force: true });
    });

    it('passes its tests, with the sandbox of a platform', async () => {
      const { sandboxId, testKey: key, request } = await platform.account({ timezone: 'Europe/Berlin', country: 'DE' });
      await platform.admin('POST', `/admin/accounts/${sandboxId}/members`, exampleMember);
      await fillSandbox((method, path, body) =>
        // A member's event takes a moment to arrive.
        waitFor(`${method} ${path}`, async () => {
          const response = await request(method, path, { ...(body ? { body } : {}), key });
          return response.status < 300 && response.body;
        }),
      );
      const env = { CUSTOMER_PLATFORM_URL: platform.gatewayUrl, CUSTOMER_PLATFORM_KEY: key };
      await run(['-m', 'pytest'], { ...env, PYTHONPATH: join(work, 'site') });
    }, 300_000);
  });
}
