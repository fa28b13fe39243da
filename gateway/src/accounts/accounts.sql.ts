import type { Account, RateLimit } from '@customer-platform/contracts/accounts';
import { type ModuleName, uuid } from '@customer-platform/contracts/core';
import type { Sql } from '@customer-platform/service-kit';
import type { z } from 'zod';

export interface AccountRow
  extends Pick<z.output<typeof Account>, 'name' | 'status' | 'timezone' | 'country' | 'language' | 'currency'>,
    RateLimit {
  account_id: string;
  /** The live account of a sandbox; null on a live account. */
  parent_id: string | null;
  plan_name: string;
  plan_api: boolean;
  plan_modules: ModuleName[];
  modules_off: ModuleName[];
  created_at: Date;
  updated_at: Date;
}

/** An account with the id of its sandbox, which is null on a sandbox. */
export interface AccountWithSandbox extends AccountRow {
  sandbox_id: string | null;
}

/** Columns that PATCH can change. */
export type AccountSettings = Pick<
  AccountRow,
  'name' | 'status' | 'timezone' | 'plan_name' | 'plan_api' | 'plan_modules' | 'modules_off' | 'per_minute' | 'burst'
>;

export type NewAccount = Omit<AccountRow, 'account_id' | 'status' | 'created_at' | 'updated_at'>;

export async function insertAccount(tx: Sql, account: NewAccount, now: Date): Promise<AccountRow> {
  const [row] = await tx<AccountRow[]>`
    insert into accounts ${tx({ ...account, created_at: now, updated_at: now })} returning *`;
  return row!;
}

export async function findAccountRow(sql: Sql, id: string): Promise<AccountWithSandbox | undefined> {
  const [row] = await sql<AccountWithSandbox[]>`
    select accounts.*, sandbox.account_id as sandbox_id
    from accounts left join accounts as sandbox on sandbox.parent_id = accounts.account_id
    where accounts.account_id = ${id}`;
  return row;
}

/** Locks an account until the transaction ends, which serializes its changes. */
export async function lockAccount(tx: Sql, id: string): Promise<void> {
  await tx`select 1 from accounts where account_id = ${id} for update`;
}

/** Updates the settings of an account and its sandbox in one statement; returns both rows. */
export async function updateAccountRows(
  tx: Sql,
  id: string,
  { name, ...others }: AccountSettings,
  now: Date,
): Promise<AccountRow[]> {
  return await tx<AccountRow[]>`
    update accounts set ${tx({ ...others, updated_at: now })},
      name = case when account_id = ${id} then ${name} else ${sandboxName(name)} end
    where account_id = ${id} or parent_id = ${id}
    returning *`;
}

/** Lists live accounts, newest first, after the account `after`. `q` matches a part of the name, the id or the id of the sandbox. */
export async function selectAccounts(
  sql: Sql,
  { q, after, limit }: { q: string | undefined; after: string | undefined; limit: number },
): Promise<AccountWithSandbox[]> {
  const older = after
    ? sql`and (accounts.created_at, accounts.account_id) <
        (select created_at, account_id from accounts where account_id = ${after})`
    : sql``;
  return await sql<AccountWithSandbox[]>`
    select accounts.*, sandbox.account_id as sandbox_id
    from accounts left join accounts as sandbox on sandbox.parent_id = accounts.account_id
    where accounts.parent_id is null ${q === undefined ? sql`` : matching(sql, q)} ${older}
    order by accounts.created_at desc, accounts.account_id desc limit ${limit}`;
}

function matching(sql: Sql, q: string) {
  if (uuid.safeParse(q).success)
    return sql`and accounts.account_id in (select coalesce(parent_id, account_id) from accounts where account_id = ${q})`;
  return sql`and lower(accounts.name) like lower(${`%${q.normalize().replace(/[\\%_]/g, '\\$&')}%`})`;
}

/** Returns the names of accounts and sandboxes by id. */
export async function selectNames(sql: Sql, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await sql<Pick<AccountRow, 'account_id' | 'name'>[]>`
    select account_id, name from accounts where account_id = any(${[...new Set(ids)]}::uuid[])`;
  return new Map(rows.map(({ account_id, name }) => [account_id, name]));
}

/** Returns the name of an account's sandbox. */
export function sandboxName(name: string): string {
  return `${name} (sandbox)`;
}
