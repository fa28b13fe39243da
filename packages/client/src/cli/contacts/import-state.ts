import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { FileError } from '../errors.ts';

/** What an import has come to. */
export interface Counts {
  created: number;
  updated: number;
  unchanged: number;
  failed: number;
}

/** How far an import is: what it needs to go on after it was interrupted. */
export interface ImportState extends Counts {
  /** Hash of the file, the mapping and the account: only the same import goes on. */
  identity: string;
  /** Begins the Idempotency-Keys of this run: the same file imported another time is another run, whose requests are no repeats. */
  run: string;
  /** Rows that are done. */
  rows: number;
  /** Rows that a request has at most; fewer once the platform has refused that many. */
  batch_rows: number;
  /** Bytes of the file of refused rows that belong to them. */
  refused_bytes: number;
}

/** Contacts that the API takes in a request. */
const maxRows = 500;

/** The file beside the input that keeps the state while an import runs. */
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

/** Returns the state of an import that begins. */
export function newState(identity: string): ImportState {
  const counts = { created: 0, updated: 0, unchanged: 0, failed: 0 };
  return { identity, run: randomUUID(), rows: 0, batch_rows: maxRows, refused_bytes: 0, ...counts };
}

/**
 * Returns the state of the import that was interrupted; undefined if there is none that wrote anything. Throws FileError if that was another one, of
 * another content of the file, with other flags, or into another account.
 */
export async function interruptedState({ path }: StateFile, identity: string): Promise<ImportState | undefined> {
  const state = await readState(path);
  if (!state || (state.rows === 0 && state.identity !== identity)) return undefined;
  if (state.identity === identity) return state;
  throw new FileError(
    `${path} is of an import that was interrupted after ${state.rows} rows, of other content, with other flags or into another account: repeat that one, or begin anew with --restart`,
  );
}

async function readState(path: string): Promise<ImportState | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as ImportState;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new FileError(`${path} cannot be read: ${(error as Error).message}; remove it to begin anew`);
  }
}
