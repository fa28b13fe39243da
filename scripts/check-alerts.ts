import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, type Program } from '@customer-platform/deploy/servers/server-binary';

// Tests the alert rules with promtool where it is there. What needs Prometheus itself downloads it; a check does not.

const root = join(import.meta.dirname, '..');
const alerts = join(root, 'deploy/observe/alerts');
const cacheDirectory = join(root, '.platform/debian');
const wanted = { program: 'promtool', debianPackage: 'prometheus', cacheDirectory, say: console.log };
const isThere =
  spawnSync('promtool', ['--version'], { timeout: 10_000 }).status === 0 ||
  existsSync(join(cacheDirectory, 'prometheus'));
if (isThere) check(await findProgram(wanted));
else console.log('alerts: left out, because promtool is not there (apt-get install prometheus)');

function check(promtool: Program): void {
  const rules = globSync('*.yml', { cwd: alerts }).sort();
  const tests = globSync('tests/*.yml', { cwd: alerts }).sort();
  const failed = [
    ['check', 'rules', ...rules],
    ['test', 'rules', ...tests],
  ].flatMap((args) => {
    const options = { cwd: alerts, env: promtool.env, encoding: 'utf8', timeout: 120_000 } as const;
    const { status, stdout, stderr, error } = spawnSync(promtool.command, args, options);
    return status === 0 ? [] : [`${stdout}${stderr}${error?.message ?? ''}`];
  });
  if (failed.length === 0) {
    console.log(`alerts: ${rules.length} files of rules and ${tests.length} of tests passed`);
    return;
  }
  console.error(failed.join('\n'));
  process.exitCode = 1;
}
