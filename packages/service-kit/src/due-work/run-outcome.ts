/** End of a run: with a result, to be run again, or of a row that is another's by now. */
export type Outcome<Result> =
  | { kind: 'done'; result: Result; isLast?: boolean }
  | { kind: 'again'; dueAt: Date; counts: boolean; error: string | null }
  | { kind: 'lost' };

/** Why a run was aborted. */
export class LeaseLost extends Error {}
export class Stopped extends Error {}
