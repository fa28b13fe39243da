import { type Database, openDatabase } from '../database/database.ts';
import type { BaseConfig } from '../values/config.ts';
import { withTimeout } from '../values/with-timeout.ts';
import type { Job } from './jobs.ts';

/** Time that rounds of jobs have to end when a process stops: one whose statements may take minutes is cut off then. */
const roundsEndMs = 3_000;

/**
 * Connections for jobs whose statements may take longer than others: as many as their rounds need, none before the first statement. They are given up
 * where those of `sql` fall silent.
 */
export function openPatientDatabase(
  { name, jobs = [] }: { name: string; jobs?: readonly Pick<Job<never>, 'statementMs'>[] },
  { DATABASE_URL, DATABASE_POOLER }: BaseConfig,
  sql: Database,
): Database | undefined {
  const patient = jobs.flatMap(({ statementMs }) => statementMs ?? []);
  if (patient.length === 0) return undefined;
  const isPooled = DATABASE_POOLER === 'transaction';
  return openDatabase(DATABASE_URL, {
    // Rounds by the clocks of accounts wait for no round by the real time, nor these for them.
    pool: patient.length * 2,
    service: name,
    statementMs: Math.max(...patient),
    isPooled,
    silentWith: sql,
  });
}

/** Ends them once the rounds have, or cuts those off that take longer: they are rolled back, and another process begins again with them. */
export async function endPatient(sql: Database, roundsEnd: Promise<unknown>): Promise<void> {
  await withTimeout(roundsEndMs, roundsEnd).catch(() => undefined);
  await sql.end({ timeout: 0 });
}
