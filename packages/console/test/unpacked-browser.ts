import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);

/**
 * Returns the executable of the browser that a package brings. It is unpacked once for a checkout, into a folder that appears when it
 * is whole: suites that start together, or one that is ended meanwhile, leave nobody half a browser, as the package's own place would.
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
    // Another suite was faster.
    if (!existsSync(executable)) throw error;
  }
  return executable;
}
