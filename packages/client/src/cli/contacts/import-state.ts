import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { FileError } from '../errors.ts';

/** Outcomes of an import's rows so far. */
export interface Counts {
  created: number;
  updated: number;
  unchanged: number;
  failed: number;
}

/** What an interrupted import needs to continue. */
export interface ImportState extends Counts {
  /** Hash of the file, the mapping and the account. An import continues only if all are the same. */
  identity: string;
  /** Prefix of this run's Idempotency-Keys. A new import of the same file is a new run, so its requests are not repeats. */
  run: string;
  /** Rows that are done. */
  rows: number;
  /** Most rows of a request. Halved when the platform refuses a batch as too large. */
  batch_rows: number;
  /** Size in bytes of the file of failed rows after these rows. */
  refused_bytes: number;
}

/** Most contacts that the API accepts in a request. */
const maxRows = 500;

/** The file next to the input that keeps the state while an import runs. */
export interface StateFile {
  path: string;
  write(state: ImportState): Promise<void>;
  remove(): Promise<void>;
}

export function stateFileOf(input: string): StateFile {
  const path = `${input}.import.json`;
  return {
    path,
    async write(state) {
      const draft = `${path}.${process.pid}.draft`;
      await writeFile(draft, `${JSON.stringify(state)}\n`);
      await rename(draft, path);
    },
    remove: () => rm(path, { force: true }),
  };
}

/** Returns the state of a new import. */
export function newState(identity: string): ImportState {
  const counts = { created: 0, updated: 0, unchanged: 0, failed: 0 };
  return { identity, run: randomUUID(), rows: 0, batch_rows: maxRows, refused_bytes: 0, ...counts };
}

/**
 * Returns the state of the interrupted import; undefined if there is none, or if another import had written nothing yet. Throws FileError if
 * the interrupted import had other file content, other flags or another account.
 */
export async function interruptedState({ path }: StateFile, identity: string): Promise<ImportState | undefined> {
  const state = await readState(path);
  if (!state || (state.rows === 0 && state.identity !== identity)) return undefined;
  if (state.identity === identity) return state;
  throw new FileError(
    `${path} belongs to an import with other content, flags or account that was interrupted after ${state.rows} rows: repeat that import, or start over with --restart`,
  );
}

async function readState(path: string): Promise<ImportState | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as ImportState;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new FileError(`${path} cannot be read: ${(error as Error).message}; delete it to start over`);
  }
}
