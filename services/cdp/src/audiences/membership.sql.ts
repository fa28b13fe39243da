import type { AudienceRules } from '@customer-platform/contracts/cdp';
import type { Sql } from '@customer-platform/service-kit';
import { keepLeavers } from '../leavers/leavers.sql.ts';
import { dataOfMove } from '../moves/moves.sql.ts';
import { compileReevaluations, compileRules, type Scope } from './compile-rules.ts';
import type { Value } from './field-test.ts';

/** An audience to refresh, with the version of its rules. */
export interface Target {
  id: string;
  version: number;
}

/** An audience with its rules. */
interface RuledAudience {
  id: string;
  rules: AudienceRules;
}

/**
 * Returns the rules of an audience, or undefined if their version has changed. Rules are read one audience at a time: all rules of an account may
 * exceed the memory of a process.
 */
export async function selectRules(tx: Sql, accountId: string, { id, version }: Target) {
  const [row] = await tx<{ rules: AudienceRules }[]>`
    select rules from audiences where account_id = ${accountId} and id = ${id} and version = ${version}`;
  return row?.rules;
}

/**
 * Runs a compiled statement without preparing it. Each audience has its own SQL, and a generic plan could be much slower than one for the actual
 * values.
 */
export async function runCompiled<Row extends object>(tx: Sql, text: string, values: readonly Value[]) {
  return await tx.unsafe<Row[]>(text, values as never[]);
}

/** Memory limits in KiB: of all steps of a statement together, and of a single step. */
const memoryKb = { all: 256 * 1_024, each: 64 * 1_024 };

/**
 * Sets planner settings for this transaction and a statement with `groupings` GROUP BY steps. Without nested loops nothing is read once per contact,
 * even if row estimates are wrong; lookups by key need nested loops. PostgreSQL limits memory per step only, and rules may have 400 steps.
 */
export async function setPlanning(
  tx: Sql,
  { nestedLoops, timeoutMs, groupings = 0 }: { nestedLoops: boolean; timeoutMs: number; groupings?: number },
) {
  // Three more steps use memory: the join, the outer GROUP BY, and the comparison with the members.
  const workMemKb = Math.min(memoryKb.each, Math.floor(memoryKb.all / (groupings + 3)));
  await tx`
    select set_config('enable_nestloop', ${nestedLoops ? 'on' : 'off'}, true), set_config('jit', 'off', true),
      set_config('work_mem', ${`${workMemKb}kB`}, true), set_config('hash_mem_multiplier', '1', true),
      set_config('statement_timeout', ${String(timeoutMs)}, true)`;
}

/** Runs a compiled statement that reads all contacts, with planner settings for its groupings, in one round trip. */
export async function runPlanned<Row extends object>(
  tx: Sql,
  text: string,
  values: readonly Value[],
  settings: { timeoutMs: number; groupings: number },
) {
  const planned = setPlanning(tx, { nestedLoops: false, ...settings });
  const [, rows] = await Promise.all([planned, runCompiled<Row>(tx, text, values)]);
  return rows;
}

/** Writes to `audience_changes` which contacts enter and leave. Each statement may take `timeoutMs`. Returns the number of changes. */
export async function writeChanges(tx: Sql, scope: Scope, target: RuledAudience, timeoutMs: number): Promise<number> {
  const { from, holds, groupings, values, bind } = compileRules(target.rules, scope);
  const audience = bind(target.id, 'uuid');
  const only = scope.contactIds ? ' and contact_id = any($2)' : '';
  const { count } = await runPlanned(
    tx,
    `insert into audience_changes (account_id, audience_id, contact_id, entered)
    select $1, ${audience}, coalesce(m.contact_id, matched.id), m.contact_id is null
    from (select c.id from ${from} where ${holds}) as matched
    full join (select contact_id from audience_members where account_id = $1 and audience_id = ${audience}${only}) as m
      on m.contact_id = matched.id
    where m.contact_id is null or matched.id is null`,
    values,
    { timeoutMs, groupings },
  );
  return count;
}

/** Schedules the re-evaluation of each contact for the next instant at which its membership can change merely because time passes. */
export async function writeReevaluations(tx: Sql, scope: Scope, target: RuledAudience, timeoutMs: number) {
  const reevaluations = compileReevaluations(target.rules, scope);
  if (!reevaluations) {
    const only = scope.contactIds ? tx`and contact_id = any(${[...scope.contactIds]}::uuid[])` : tx``;
    await tx`delete from audience_flips where account_id = ${scope.accountId} and audience_id = ${target.id} ${only}`;
    return;
  }
  const audience = reevaluations.bind(target.id, 'uuid');
  const only = scope.contactIds ? ' and known.contact_id = any($2)' : '';
  await runPlanned(
    tx,
    `with fresh as materialized (${reevaluations.select}), over as (
      delete from audience_flips known where known.account_id = $1 and known.audience_id = ${audience}${only}
        and not exists (select from fresh where fresh.contact_id = known.contact_id)
    )
    insert into audience_flips as known (account_id, audience_id, contact_id, flips_at)
    select $1, ${audience}, contact_id, due_at from fresh
    on conflict (account_id, audience_id, contact_id) do update set flips_at = excluded.flips_at
      where known.flips_at <> excluded.flips_at`,
    reevaluations.values,
    { timeoutMs, groupings: reevaluations.groupings },
  );
}

/**
 * Locks audiences in id order. All code that changes members takes these locks first, which avoids deadlocks. Returns the targets whose rules still
 * have the evaluated version.
 */
export async function lockCurrent(tx: Sql, accountId: string, targets: readonly Target[]): Promise<Target[]> {
  const ids = targets.map(({ id }) => id);
  const rows = await tx<{ id: string; version: number }[]>`
    select id, version from audiences where account_id = ${accountId} and id = any(${ids}::uuid[])
    order by id for no key update`;
  const versions = new Map(rows.map((row) => [row.id, row.version]));
  return targets.filter(({ id, version }) => versions.get(id) === version);
}

/**
 * Drops outdated changes: of audiences not in `current`, of members that changed meanwhile, of deleted or merged contacts. `offset 0` forces a lookup
 * per change: a plan for many changes would read all members and contacts.
 */
export async function dropOvertakenChanges(tx: Sql, accountId: string, current: readonly Target[]) {
  await tx`
    delete from audience_changes ch where ch.account_id = ${accountId} and (
      ch.audience_id <> all(${current.map(({ id }) => id)}::uuid[])
      or ch.entered = exists (select from audience_members m
        where m.account_id = ch.account_id and m.audience_id = ch.audience_id and m.contact_id = ch.contact_id offset 0)
      or ch.entered and not exists (select from contacts c
        where c.account_id = ch.account_id and c.id = ch.contact_id and c.merged_into is null offset 0))`;
}

/**
 * Applies the changes. Remaining members keep their `entered_at`, new ones get `now`, and positions of leavers are kept for a day. `offset 0` forces
 * lookups by key: the planner expects no changes and would read all members.
 */
export async function applyChanges(tx: Sql, accountId: string, now: Date) {
  await tx`
    with gone as (
      delete from audience_members where ctid = any(array(
        select m.ctid from audience_changes ch cross join lateral (
          select ctid from audience_members where account_id = ch.account_id and audience_id = ch.audience_id
            and contact_id = ch.contact_id offset 0) as m
        where ch.account_id = ${accountId} and not ch.entered))
      returning *
    ), kept as (${keepLeavers(tx, tx`select * from gone`, now)})
    insert into audience_members (account_id, audience_id, contact_id, entered_at)
    select account_id, audience_id, contact_id, ${now} from audience_changes where account_id = ${accountId} and entered`;
}

/** Selects the event data of contacts that entered or left; see audience.entered. */
export const movedContacts = (tx: Sql, accountId: string, entered: boolean): ReturnType<Sql> => tx`
  select ${dataOfMove(tx)}
  from audience_changes m
  join audiences a on a.account_id = m.account_id and a.id = m.audience_id
  left join contacts c on c.account_id = m.account_id and c.id = m.contact_id
  where m.account_id = ${accountId} and m.entered = ${entered}`;

/** Sets `refreshed_at` and the member counts of the audiences, and deletes the applied changes. */
export async function finishChanges(tx: Sql, accountId: string, current: readonly Target[], now: Date) {
  await tx`
    with moved as (
      delete from audience_changes where account_id = ${accountId} returning audience_id, entered
    ), counted as (
      select audience_id, count(*) filter (where entered) - count(*) filter (where not entered) as more
      from moved group by audience_id
    )
    update audiences a set refreshed_at = ${now}, members = a.members + coalesce(counted.more, 0)
    from unnest(${current.map(({ id }) => id)}::uuid[]) as refreshed (id)
    left join counted on counted.audience_id = refreshed.id
    where a.account_id = ${accountId} and a.id = refreshed.id`;
}
