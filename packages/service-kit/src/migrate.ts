import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';

const lockNotAvailable = '55P03';
/** Lock timeout of a migration: others wait behind it, and a backup or a long report may hold the lock for hours. */
const lockTimeoutMs = 2_000;
/** Pause in which others get through before its next attempt. */
const lockRetryMs = 1_000;

/**
 * Brings a schema up to date: applies each `NNNN_name.sql` of the directories that it has not seen, in order, each in one
 * transaction, one process at a time. A migration that cannot have its locks within 2 s gives way and is tried again, so that nobody
 * else's statements pile up behind it; `say` is told what is waited for. Throws where an applied file was changed since, for its
 * effect can't be known.
 */
export async function migrate(
  url: string,
  schema: string,
  directories: URL[],
  say: (waiting: { migration: string; tries: number }) => void = () => undefined,
): Promise<void> {
  const sql = postgres(url, {
    max: 1,
    connect_timeout: 5,
    onnotice: () => undefined,
    connection: {
      application_name: `${schema} migrate`,
      search_path: `${schema}, public`,
      lock_timeout: lockTimeoutMs,
    },
  });
  const patiently = async (migration: string, work: () => Promise<unknown>) => {
    for (let tries = 1; ; tries++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof postgres.PostgresError && error.code === lockNotAvailable)) throw error;
        say({ migration, tries });
        await sleep(lockRetryMs);
      }
    }
  };
  try {
    await patiently(
      'of another process',
      () => sql`select pg_advisory_lock(hashtextextended(${`migrate ${schema}`}, 0))`,
    );
    await sql`create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())`;
    const applied = new Map((await sql`select name, checksum from migrations`).map((row) => [row.name, row.checksum]));
    for (const { name, file } of await migrationFiles(directories)) {
      const statements = await readFile(file, 'utf8');
      const checksum = createHash('sha256').update(statements).digest('hex');
      if (applied.has(name)) {
        if (applied.get(name) !== checksum) {
          throw new Error(
            `Migration ${name} was changed after it had been applied to ${schema}; add a new one instead.`,
          );
        }
        continue;
      }
      await patiently(name, () =>
        sql.begin(async (tx) => {
          await tx.unsafe(statements).simple();
          await tx`insert into migrations (name, checksum) values (${name}, ${checksum})`;
        }),
      );
    }
  } finally {
    await sql.end();
  }
}

async function migrationFiles(directories: URL[]): Promise<{ name: string; file: URL }[]> {
  const files: { name: string; file: URL }[] = [];
  for (const directory of directories) {
    const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
    files.push(...names.map((name) => ({ name, file: new URL(name, directory) })));
  }
  return files;
}
