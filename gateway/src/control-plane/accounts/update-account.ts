import { isDeepStrictEqual } from 'node:util';
import { type AccountChange, accountUpdated, adminOperations } from '@customer-platform/contracts/accounts';
import { moduleNames } from '@customer-platform/contracts/core';
import type { z } from 'zod';
import { toAccount, toContext } from '../../accounts/account-shape.ts';
import {
  type AccountRow,
  type AccountSettings,
  findAccountRow,
  lockAccount,
  updateAccountRows,
} from '../../accounts/accounts.sql.ts';
import { timezoneName } from '../../accounts/time-zones.ts';
import { emitFor, implement } from '../admin-operation.ts';
import { differenceOf, recordChange } from '../audit/record-change.ts';
import { inOrder } from './create-account.ts';

/** Changes an account and, with it, its sandbox. */
export const updateAccount = implement(adminOperations.updateAccount, {
  async find({ tx, params }) {
    await lockAccount(tx, params.account_id);
    return await findAccountRow(tx, params.account_id);
  },
  async handle(call) {
    const { tx, found, body, now, fail, resources } = call;
    if (found.parent_id !== null) {
      fail('invalid_state', `A sandbox follows its account; update the account ${found.parent_id} instead`);
    }
    const settings = merged(found, body);
    if (isDeepStrictEqual(settings, merged(found, {}))) return toAccount(found, resources.cells);
    const rows = await updateAccountRows(tx, found.account_id, settings, now);
    for (const row of rows) {
      const account = toContext(row);
      await emitFor(call, accountUpdated, account, { account });
    }
    await resources.changes.record(tx, found.account_id);
    const row = rows.find((one) => one.account_id === found.account_id)!;
    const account = toAccount({ ...row, sandbox_id: found.sandbox_id }, resources.cells);
    const { updated_at: _, ...shown } = account;
    const change = { action: 'accounts.update' as const, target: `accounts/${account.id}`, account: account.id };
    await recordChange(call, change, differenceOf(toAccount(found, resources.cells), shown));
    return account;
  },
  committed(resources) {
    resources.changes.announce();
    resources.eventsCommitted();
  },
});

/** Returns the settings after a change: objects merge by key, lists are replaced. */
function merged(row: AccountRow, change: z.output<typeof AccountChange>): AccountSettings {
  const { name, status, timezone, plan, modules, rate_limit } = change;
  return {
    name: name ?? row.name,
    status: status ?? row.status,
    timezone: timezone === undefined ? row.timezone : timezoneName(timezone),
    plan_name: plan?.name ?? row.plan_name,
    plan_api: plan?.api ?? row.plan_api,
    plan_modules: plan?.modules ? inOrder(plan.modules) : row.plan_modules,
    modules_off: moduleNames.filter((module) => !(modules?.[module]?.on ?? !row.modules_off.includes(module))),
    per_minute: rate_limit?.per_minute ?? row.per_minute,
    burst: rate_limit?.burst ?? row.burst,
  };
}
