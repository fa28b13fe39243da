import type { Sql } from '../database/database.ts';

/** Has `holder` report what has this name, unless another does; returns whether it does. */
export async function takeReporter(sql: Sql, name: string, holder: string, ms: number): Promise<boolean> {
  return (await takeLease(sql, name, holder, ms)) !== undefined;
}

/** The same; returns who had it before where this one has it now, itself maybe: null where nobody did, or the last one released it. */
export async function takeLease(
  sql: Sql,
  name: string,
  holder: string,
  ms: number,
): Promise<{ before: string | null } | undefined> {
  const [taken] = await sql<{ before: string | null }[]>`
    with before as (select holder from reporters where name = ${name})
    insert into reporters as r (name, holder, held_until) values (${name}, ${holder}, now() + make_interval(secs => ${ms / 1000}))
    on conflict (account_id, name) do update set holder = excluded.holder, held_until = excluded.held_until
    where r.holder = excluded.holder or r.held_until < now()
    returning (select holder from before) as before`;
  return taken;
}

/** Lets the next process report at once. */
export async function releaseReporter(sql: Sql, name: string, holder: string): Promise<void> {
  await sql`delete from reporters where name = ${name} and holder = ${holder}`;
}
