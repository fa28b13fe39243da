import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, type Program } from '@customer-platform/deploy/servers/server-binary';

// Tests the alert rules if promtool is installed. This check does not download Prometheus; tests that need it do.

const root = join(import.meta.dirname, '..');
const alerts = join(root, 'deploy/observe/alerts');
const cacheDirectory = join(root, '.platform/debian');
const wanted = { program: 'promtool', debianPackage: 'prometheus', cacheDirectory, say: console.log };
const isThere =
  spawnSync('promtool', ['--version'], { timeout: 10_000 }).status === 0 ||
  existsSync(join(cacheDirectory, 'prometheus'));
if (isThere) check(await findProgram(wanted));
else console.log('alerts: skipped, because promtool is not installed (apt-get install prometheus)');

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
    console.log(`alerts: ${rules.length} rule files and ${tests.length} test files passed`);
    return;
  }
  console.error(failed.join('\n'));
  process.exitCode = 1;
}
