import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');
/** Linux's in-memory file system. */
const memory = '/dev/shm';
const leastBytes = 4 * 1024 ** 3;
const prefix = 'customer-platform-tests-';

/**
 * Creates an empty folder for a test's files and its servers' data. The caller deletes it. Its parent is the folder of the test run (TEST_FOLDER), or
 * `.platform` in the repository.
 */
export function newDataFolder(): string {
  const parent = process.env.TEST_FOLDER ?? platformFolder();
  return mkdtempSync(join(parent, 'test-'));
}

/** Returns the folder of the servers' programs, which is kept between runs. */
export function programsFolder(): string {
  return join(platformFolder(), 'debian');
}

function platformFolder(): string {
  const folder = join(root, '.platform');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/**
 * Creates the folder of a whole run, in memory if 4 GiB are free there. On a disk, deleting the hundreds of thousands of files of a run's databases
 * takes minutes. Also deletes in-memory folders of killed runs.
 */
export function newRunFolder(): string {
  if (!hasMemory()) return newDataFolder();
  for (const name of readdirSync(memory)) {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : 0;
    if (pid > 0 && !isRunning(pid)) rmSync(join(memory, name), { recursive: true, force: true });
  }
  const folder = join(memory, `${prefix}${process.pid}`);
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

function hasMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= leastBytes;
  } catch {
    return false;
  }
}

/** Returns whether a process has this id, including processes of other users. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
