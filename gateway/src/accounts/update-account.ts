import { isDeepStrictEqual } from 'node:util';
import { type AccountChange, accountUpdated, adminOperations } from '@customer-platform/contracts/accounts';
import { moduleNames } from '@customer-platform/contracts/core';
import type { z } from 'zod';
import { emitFor, implement } from '../admin-operation.ts';
import { toAccount, toContext } from './account-shape.ts';
import {
  type AccountRow,
  type AccountSettings,
  findAccountRow,
  lockAccount,
  updateAccountRows,
} from './accounts.sql.ts';
import { inOrder } from './create-account.ts';
import { timezoneName } from './timezone-name.ts';

/** Changes an account and, with it, its sandbox. */
export const updateAccount = implement(adminOperations.updateAccount, {
  async find({ tx, params }) {
    await lockAccount(tx, params.account_id);
    return await findAccountRow(tx, params.account_id);
  },
  async handle({ tx, found, body, now, fail, resources }) {
    if (found.parent_id !== null) {
      fail('invalid_state', `A sandbox follows its account; update the account ${found.parent_id} instead`);
    }
    const settings = merged(found, body);
    if (isDeepStrictEqual(settings, merged(found, {}))) return toAccount(found);
    const rows = await updateAccountRows(tx, found.account_id, settings, now);
    for (const row of rows) {
      const account = toContext(row);
      await emitFor(tx, accountUpdated, account, { account }, now);
    }
    await resources.changes.record(tx, found.account_id);
    const account = rows.find((row) => row.account_id === found.account_id)!;
    return toAccount({ ...account, sandbox_id: found.sandbox_id });
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
