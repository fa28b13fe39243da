import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gateway, services } from '@customer-platform/deploy/deployables';
import { startProcessPlatform } from '@customer-platform/testkit';

const usage = `Runs the previous release's black box against the platform of this checkout, then against one process of that release next to the
others of this checkout, each in turn.

  npm run release-before [-- <commit or tag> [<process> …]]

Default commit: the last one that recorded a release's contracts. Its checkout and its dependencies go to
.platform/release-before; takes about two minutes, and one more for the first time. Processes: ${[gateway, ...services].map(({ name }) => name).join(', ')}`;

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);
/** Maximum time of one black box, and of the checkout with its dependencies, in milliseconds. */
const checkMs = 180_000;
const checkoutMs = 600_000;
const names = [gateway, ...services].map(({ name }) => name);

const [commit, ...chosen] = process.argv.slice(2);
const unknown = chosen.filter((name) => !names.includes(name));
if (commit === '--help') console.log(usage);
else if (unknown.length > 0) {
  console.error(`unknown process ${unknown.join(', ')}: it must be one of ${names.join(', ')}`);
  process.exitCode = 2;
} else {
  const before = await checkoutOf(commit ?? (await lastRecorded()));
  for (const name of chosen.length > 0 ? chosen : [undefined, ...names]) await check(before, name);
}

/** Returns the last commit that recorded a release's contracts. */
async function lastRecorded(): Promise<string> {
  return await git(root, 'log', '-1', '--format=%H', '--', 'packages/contracts/released');
}

/** Returns the folder of the commit's checkout with its dependencies. Throws the error of git or npm. */
async function checkoutOf(name: string): Promise<string> {
  const sha = await git(root, 'rev-parse', '--verify', '--quiet', `${name}^{commit}`).catch(() => '');
  if (sha === '')
    throw new Error(`${name || 'the previous release'} is not a commit of this repository: fetch its history and tags`);
  const folder = join(root, '.platform/release-before', sha);
  if (existsSync(join(folder, 'node_modules'))) return folder;
  console.log(`Checking out ${await git(root, 'log', '-1', '--format=%h %as %s', sha)}, and installing its packages`);
  if (!existsSync(folder)) await git(root, 'clone', '--quiet', '--shared', '--no-checkout', root, folder);
  await git(folder, 'checkout', '--quiet', '--detach', sha);
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, timeout: checkoutMs });
  return folder;
}

/** Runs the black box of `before` against this checkout's platform, with one process of `before` if named. Prints the outcome. */
async function check(before: string, name: string | undefined): Promise<void> {
  const env = { OTEL_SDK_DISABLED: 'true' };
  const platform = await startProcessPlatform(env, (process) => (process === name ? before : root));
  // Older releases have the black box next to the Compose file.
  const boxes = ['tests/black-box/black-box.ts', 'deploy/compose/black-box.ts'].map((file) => join(before, file));
  const box = boxes.find(existsSync)!;
  const entrances = ['--gateway', platform.gatewayUrl, '--admin', platform.adminUrl];
  const beside = name ? `with ${name} of the previous release` : 'with every process of this checkout';
  try {
    const options = { env: { ...process.env, ADMIN_TOKEN: platform.adminToken }, timeout: checkMs };
    await run(process.execPath, [box, ...entrances], options);
    console.log(`passed  ${beside}`);
  } catch (error) {
    const { stdout = '', stderr = String(error) } = error as { stdout?: string; stderr?: string };
    console.error([`FAILED  ${beside}`, stdout, stderr, ...platform.output.slice(-20)].join('\n'));
    process.exitCode = 1;
  } finally {
    await platform.stop();
  }
}

async function git(cwd: string, ...args: string[]): Promise<string> {
  return (await run('git', args, { cwd })).stdout.trim();
}
