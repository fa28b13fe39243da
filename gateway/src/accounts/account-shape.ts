import type { Account } from '@customer-platform/contracts/accounts';
import { type AccountContext, type ModuleName, moduleNames } from '@customer-platform/contracts/core';
import { formatInstant } from '@customer-platform/service-kit';
import type { z } from 'zod';
import type { AccountRow, AccountWithSandbox } from './accounts.sql.ts';

/** Returns an account as the control plane shows it. */
export function toAccount(row: AccountWithSandbox): z.output<typeof Account> {
  return {
    id: row.account_id,
    name: row.name,
    status: row.status,
    timezone: row.timezone,
    country: row.country,
    language: row.language,
    currency: row.currency,
    plan: { name: row.plan_name, api: row.plan_api, modules: row.plan_modules },
    modules: Object.fromEntries(moduleNames.map((name) => [name, { on: !row.modules_off.includes(name) }])) as Record<
      ModuleName,
      { on: boolean }
    >,
    rate_limit: { per_minute: row.per_minute, burst: row.burst },
    sandbox_id: row.sandbox_id,
    created_at: formatInstant(row.created_at, row.timezone),
    updated_at: formatInstant(row.updated_at, row.timezone),
  };
}

/**
 * Returns the account context, which is signed into requests and included in events. A suspended account has no modules.
 */
export function toContext(row: AccountRow): AccountContext {
  return {
    id: row.account_id,
    owner: row.parent_id ?? row.account_id,
    name: row.name,
    mode: row.parent_id === null ? 'live' : 'test',
    timezone: row.timezone,
    country: row.country,
    language: row.language,
    currency: row.currency,
    modules: row.status === 'suspended' ? [] : row.plan_modules.filter((name) => !row.modules_off.includes(name)),
    suspended: row.status === 'suspended',
  };
}
