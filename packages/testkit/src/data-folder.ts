import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');
/** Linux's folder of files in memory. */
const memory = '/dev/shm';
const leastBytes = 4 * 1024 ** 3;
const prefix = 'customer-platform-tests-';

/**
 * Creates and returns an empty folder for a test's files and its servers' data. The caller deletes it. It is in that of the run of the
 * suite (TEST_FOLDER), else in the repository's `.platform`.
 */
export function newDataFolder(): string {
  const parent = process.env.TEST_FOLDER ?? platformFolder();
  return mkdtempSync(join(parent, 'test-'));
}

/** Returns the folder that keeps the programs of servers from run to run. */
export function programsFolder(): string {
  return join(platformFolder(), 'debian');
}

function platformFolder(): string {
  const folder = join(root, '.platform');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/**
 * Creates and returns the folder of a whole run: in memory where this machine has 4 GiB of it for files, because a disk takes minutes to
 * delete the hundreds of thousands of files of a run's databases. Deletes those of runs in memory that were killed.
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

/** Returns whether a process has this id, also one of another user. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
