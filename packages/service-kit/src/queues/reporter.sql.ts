import type { Sql } from '../database/database.ts';

/** Has `holder` report what has this name, unless another does; returns whether it does. */
export async function takeReporter(sql: Sql, name: string, holder: string, ms: number): Promise<boolean> {
  const taken = await sql`
    insert into reporters as r (name, holder, held_until) values (${name}, ${holder}, now() + make_interval(secs => ${ms / 1000}))
    on conflict (account_id, name) do update set holder = excluded.holder, held_until = excluded.held_until
    where r.holder = excluded.holder or r.held_until < now()`;
  return taken.count > 0;
}

/** Lets the next process report at once. */
export async function releaseReporter(sql: Sql, name: string, holder: string): Promise<void> {
  await sql`delete from reporters where name = ${name} and holder = ${holder}`;
}
