import type { AudienceRules } from '@customer-platform/contracts/cdp';
import type { Sql } from '@customer-platform/service-kit';
import { keepLeavers } from '../leavers/leavers.sql.ts';
import { compileFlips, compileRules, type Scope } from './compile-rules.ts';
import type { Value } from './field-test.ts';

/** An audience to be worked out. */
export interface Target {
  id: string;
  version: number;
  rules: AudienceRules;
  /** Only for these contacts; left out: for all of the account. */
  contactIds?: readonly string[] | undefined;
}

/**
 * Runs a compiled statement. It is planned for its values each time, and kept by no connection: a plan made for others could be
 * much slower, and every audience has a text of its own.
 */
export async function runCompiled<Row extends object>(tx: Sql, text: string, values: readonly Value[]) {
  return await tx.unsafe<Row[]>(text, values as never[]);
}

/**
 * Settings of this transaction. Without nested loops nothing is read once for each contact, however wrong the planner's guess at
 * how many there are; what is looked up by key needs them.
 */
export async function setPlanning(tx: Sql, settings: { nestedLoops: boolean; timeoutMs: number }): Promise<void> {
  await tx`
    select set_config('enable_nestloop', ${settings.nestedLoops ? 'on' : 'off'}, true), set_config('jit', 'off', true),
      set_config('work_mem', '64MB', true), set_config('statement_timeout', ${String(settings.timeoutMs)}, true)`;
}

/** Writes down who has to enter and who to leave; answers how many. */
export async function writeChanges(tx: Sql, scope: Scope, target: Target): Promise<number> {
  const { from, counted, holds, values, bind } = compileRules(target.rules, scope);
  const audience = bind(target.id, 'uuid');
  const only = scope.contactIds ? ' and contact_id = any($2)' : '';
  const result = await runCompiled(
    tx,
    `insert into audience_changes (account_id, audience_id, contact_id, entered)
    select $1, ${audience}, coalesce(m.contact_id, matched.id), m.contact_id is null
    from (select c.id from ${from} where ${counted} and ${holds}) as matched
    full join (select contact_id from audience_members where account_id = $1 and audience_id = ${audience}${only}) as m
      on m.contact_id = matched.id
    where m.contact_id is null or matched.id is null`,
    values,
  );
  return result.count;
}

/** Keeps the next moment at which time alone can move each contact. */
export async function writeFlips(tx: Sql, scope: Scope, target: Target): Promise<void> {
  const flips = compileFlips(target.rules, scope);
  if (!flips) {
    const only = scope.contactIds ? tx`and contact_id = any(${[...scope.contactIds]}::uuid[])` : tx``;
    await tx`delete from audience_flips where account_id = ${scope.accountId} and audience_id = ${target.id} ${only}`;
    return;
  }
  const audience = flips.bind(target.id, 'uuid');
  const only = scope.contactIds ? ' and known.contact_id = any($2)' : '';
  await runCompiled(
    tx,
    `with fresh as materialized (${flips.select}), over as (
      delete from audience_flips known where known.account_id = $1 and known.audience_id = ${audience}${only}
        and not exists (select from fresh where fresh.contact_id = known.contact_id)
    )
    insert into audience_flips as known (account_id, audience_id, contact_id, flips_at)
    select $1, ${audience}, contact_id, flips_at from fresh
    on conflict (account_id, audience_id, contact_id) do update set flips_at = excluded.flips_at
      where known.flips_at <> excluded.flips_at`,
    flips.values,
  );
}

/**
 * Locks audiences in the order of their ids, as everyone does who changes who is in them, and before: so nobody waits in a ring.
 * Answers those that have the rules yet that were worked out.
 */
export async function lockCurrent(tx: Sql, accountId: string, targets: readonly Target[]): Promise<Target[]> {
  const ids = targets.map(({ id }) => id);
  const rows = await tx<{ id: string; version: number }[]>`
    select id, version from audiences where account_id = ${accountId} and id = any(${ids}::uuid[])
    order by id for no key update`;
  const versions = new Map(rows.map((row) => [row.id, row.version]));
  return targets.filter(({ id, version }) => versions.get(id) === version);
}

/** Drops what was overtaken: changes of audiences that are not `current`, of members that others moved, of contacts that are gone. */
export async function dropOvertakenChanges(tx: Sql, accountId: string, current: readonly Target[]): Promise<void> {
  await tx`
    delete from audience_changes ch where ch.account_id = ${accountId} and (
      ch.audience_id <> all(${current.map(({ id }) => id)}::uuid[])
      or ch.entered = exists (select from audience_members m
        where m.account_id = ch.account_id and m.audience_id = ch.audience_id and m.contact_id = ch.contact_id)
      or ch.entered and not exists (select from contacts c
        where c.account_id = ch.account_id and c.id = ch.contact_id and c.merged_into is null))`;
}

/** Who stays keeps their entered_at; who enters has `now`; where those stood who leave is kept for a day. */
export async function applyChanges(tx: Sql, accountId: string, now: Date): Promise<void> {
  await tx`
    with gone as (
      delete from audience_members m using audience_changes ch
      where ch.account_id = ${accountId} and not ch.entered
        and m.account_id = ch.account_id and m.audience_id = ch.audience_id and m.contact_id = ch.contact_id
      returning m.*
    ), kept as (${keepLeavers(tx, tx`select * from gone`, now)})
    insert into audience_members (account_id, audience_id, contact_id, entered_at)
    select account_id, audience_id, contact_id, ${now} from audience_changes where account_id = ${accountId} and entered`;
}

/** The data of the events of those who entered, or who left: see audience.entered. */
export const movedContacts = (tx: Sql, accountId: string, entered: boolean): ReturnType<Sql> => tx`
  select json_build_object('audience', json_build_object('id', a.id, 'name', a.name), 'contact',
    json_build_object('id', ch.contact_id, 'name', coalesce(c.name, ''), 'phone', coalesce(c.phone, ''))) as data
  from audience_changes ch
  join audiences a on a.account_id = ch.account_id and a.id = ch.audience_id
  left join contacts c on c.account_id = ch.account_id and c.id = ch.contact_id
  where ch.account_id = ${accountId} and ch.entered = ${entered}`;

/** Says of the audiences that they were worked out now, and how many are in them; ends what was written down. */
export async function finishChanges(tx: Sql, accountId: string, current: readonly Target[], now: Date): Promise<void> {
  await tx`
    with moved as (
      delete from audience_changes where account_id = ${accountId} returning audience_id, entered
    ), counted as (
      select audience_id, count(*) filter (where entered) - count(*) filter (where not entered) as more
      from moved group by audience_id
    )
    update audiences a set refreshed_at = ${now}, members = a.members + coalesce(counted.more, 0)
    from unnest(${current.map(({ id }) => id)}::uuid[]) as worked_out (id)
    left join counted on counted.audience_id = worked_out.id
    where a.account_id = ${accountId} and a.id = worked_out.id`;
}
