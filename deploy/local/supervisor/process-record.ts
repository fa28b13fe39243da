import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { waitUntil } from './wait-until.ts';

/** Record of a running process. A later start finds the process by it when the parent was killed. */
export interface ProcessRecord {
  pid: number;
  /** Boot and start time, so that a later process with the same id has another identity. */
  identity: string;
  /** Signal for a graceful shutdown. */
  stopSignal: NodeJS.Signals;
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null; // missing, or the process ended during the read
  }
}

/** Returns an identity that a later process with the same id does not have. Returns null when no such process runs; a zombie counts as ended. */
export const processIdentity = process.platform === 'linux' ? identityByProc : identityByPs;

function identityByProc(pid: number): string | null {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return null;
  return `${readText('/proc/sys/kernel/random/boot_id')?.trim()}:${fields[19]}`;
}

/** Like `processIdentity`, for systems without /proc: the time when the process started, in UTC to the second. */
export function identityByPs(pid: number): string | null {
  const [state = 'Z', ...start] = psFields(pid, 'stat', 'lstart').split(/\s+/);
  return state === '' || state.startsWith('Z') ? null : start.join(' ');
}

/** Returns the fields that ps prints for a process, without headers. Returns an empty string when no such process runs. */
export function psFields(pid: number, ...fields: string[]): string {
  const args = ['-ww', ...fields.flatMap((field) => ['-o', `${field}=`]), '-p', String(pid)];
  const { stdout, error } = spawnSync('ps', args, {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
  });
  if (error !== undefined) throw error;
  return stdout.trim();
}

/** Writes the record of a process that was just started. */
export function recordProcess(file: string, pid: number, stopSignal: NodeJS.Signals): void {
  const identity = processIdentity(pid);
  if (identity === null) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, JSON.stringify({ pid, identity, stopSignal } satisfies ProcessRecord));
  renameSync(`${file}.new`, file);
}

/** Returns the recorded process if it still runs and has the same identity, else null. */
export function runningRecord(file: string): ProcessRecord | null {
  const text = readText(file);
  if (text === null || text === '') return null;
  const record = JSON.parse(text) as ProcessRecord;
  return processIdentity(record.pid) === record.identity ? record : null;
}

/** Sends a signal to a process, or to its whole group for a negative id. Returns false when none exists. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** Stops the recorded process if it still runs (stop signal, then SIGKILL after graceMs) and removes the record. */
export async function stopRecorded(file: string, graceMs: number): Promise<boolean> {
  const record = runningRecord(file);
  if (record !== null) {
    const gone = () => processIdentity(record.pid) !== record.identity;
    signalProcess(record.pid, record.stopSignal);
    if (!(await waitUntil(gone, graceMs))) {
      signalProcess(record.pid, 'SIGKILL');
      await waitUntil(gone, 5_000);
    }
  }
  rmSync(file, { force: true });
  return record !== null;
}
