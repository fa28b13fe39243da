import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type PythonPrograms, pythonPrograms } from './python-programs.ts';
import { testedDocument } from './tested-document.ts';

const found = pythonPrograms(['schemathesis==4.32.5']);
const deadlineMs = 1_500_000;

// Without Python the test run shows why the test below is skipped.
if ('skipped' in found) it.skip(`schemathesis: ${found.skipped}`, () => undefined);
else describe('schemathesis, against the sandbox of an account', () => testsWith(found));

function testsWith({ folder: programs }: PythonPrograms): void {
  let platform: Platform;
  const folder = mkdtempSync(join(tmpdir(), 'schemathesis-'));
  beforeAll(async () => {
    platform = await startPlatform();
  }, 300_000);
  afterAll(async () => {
    await platform?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it(
    'finds no response that the document does not describe, and no invalid request that is accepted',
    async () => {
      const account = await platform.account();
      const document = (await account.request('GET', '/v1/openapi.json')).body as object;
      const file = join(folder, 'openapi.json');
      writeFileSync(file, JSON.stringify(testedDocument(document)));
      const config = ['--config-file', join(import.meta.dirname, 'schemathesis.toml')];
      const authorization = `Authorization: Bearer ${account.testKey}`;
      const args = [...config, 'run', file, '--url', platform.gatewayUrl, '--header', authorization, '--seed', '1'];
      const outcome = await outputOf(join(programs, 'schemathesis'), args);
      expect(outcome).toEqual({ code: 0, output: expect.stringMatching(/Tested: +15\d/) });
    },
    deadlineMs,
  );

  /** Returns the exit code and the output of a program. Asynchronous, because the platform runs in this process. */
  function outputOf(program: string, args: string[]): Promise<{ code: unknown; output: string }> {
    const options = {
      cwd: folder,
      timeout: deadlineMs,
      maxBuffer: 64 * 1_048_576,
      env: { ...process.env, NO_COLOR: '1' },
    };
    return new Promise((resolve) => {
      execFile(program, args, options, (error, stdout, stderr) => {
        resolve({ code: error ? error.code : 0, output: `${stdout}${stderr}`.slice(-20_000) });
      });
    });
  }
}
