import { isDeepStrictEqual } from 'node:util';
import {
  type AccountChange,
  accountCreated,
  accountUpdated,
  adminOperations,
  defaultRateLimit,
} from '@customer-platform/contracts/accounts';
import { type ModuleName, moduleNames } from '@customer-platform/contracts/core';
import { fewBytes, outboxRow, readPage, uuidPosition, writeOutbox } from '@customer-platform/service-kit';
import type { z } from 'zod';
import { toAccount, toContext } from '../../accounts/account-shape.ts';
import {
  type AccountRow,
  type AccountSettings,
  findAccountRow,
  insertAccount,
  lockAccount,
  type NewAccount,
  sandboxName,
  selectAccounts,
  updateAccountRows,
} from '../../accounts/accounts.sql.ts';
import { countryOfZone, isCountry, timezoneName } from '../../accounts/time-zones.ts';
import { differenceOf, recordChange } from '../../audit/record-change.ts';
import { implement } from '../admin-operation.ts';

/** Creates an account and its sandbox. */
export const createAccount = implement(adminOperations.createAccount, {
  async handle(call) {
    const { tx, body, now, fail } = call;
    if (body.country !== undefined && !isCountry(body.country)) {
      fail('invalid_request', `country must be an ISO 3166 code such as DE, not ${body.country}`, 'country');
    }
    const plan = body.plan ?? { name: 'standard', api: true, modules: [...moduleNames] };
    const wanted: NewAccount = {
      parent_id: null,
      name: body.name,
      timezone: timezoneName(body.timezone),
      country: body.country ?? countryOfZone(body.timezone),
      language: body.language,
      currency: body.currency,
      plan_name: plan.name,
      plan_api: plan.api,
      plan_modules: inOrder(plan.modules),
      modules_off: moduleNames.filter((name) => body.modules?.[name]?.on === false),
      ...(body.rate_limit ?? defaultRateLimit),
    };
    const account = await insertAccount(tx, wanted, now);
    const twin = { ...wanted, parent_id: account.account_id, name: sandboxName(body.name) };
    const sandbox = await insertAccount(tx, twin, now);
    const contexts = [account, sandbox].map(toContext);
    const events = contexts.map((context) => outboxRow(accountCreated, context, { account: context }, now));
    await writeOutbox(tx, events);
    const created = toAccount({ ...account, sandbox_id: sandbox.account_id });
    const { id } = created;
    await recordChange(call, { action: 'accounts.create', target: `accounts/${id}`, account: id }, { after: created });
    return created;
  },
  committed: (resources) => resources.eventsCommitted(),
});

/** Lists accounts, newest first: all, or those that match `q`. */
export const listAccounts = implement(adminOperations.listAccounts, {
  async handle({ tx, query }) {
    return await readPage(query, {
      position: uuidPosition(async (id) => (await findAccountRow(tx, id))?.parent_id === null),
      rows: (after, limit) => selectAccounts(tx, { q: query.q, after, limit }),
      bytes: fewBytes,
      item: toAccount,
      cursor: 'account_id',
    });
  },
});

/** Reads one account, or a sandbox by its own id. */
export const getAccount = implement(adminOperations.getAccount, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  handle: async ({ found }) => toAccount(found),
});

/** Changes an account and its sandbox. */
export const updateAccount = implement(adminOperations.updateAccount, {
  async find({ tx, params }) {
    await lockAccount(tx, params.account_id);
    return await findAccountRow(tx, params.account_id);
  },
  async handle(call) {
    const { tx, found, body, now, fail, resources } = call;
    if (found.parent_id !== null) {
      fail('invalid_state', `A sandbox cannot be updated alone; update the account ${found.parent_id} instead`);
    }
    const settings = merged(found, body);
    if (isDeepStrictEqual(settings, merged(found, {}))) return toAccount(found);
    const rows = await updateAccountRows(tx, found.account_id, settings, now);
    const contexts = rows.map(toContext);
    const events = contexts.map((context) => outboxRow(accountUpdated, context, { account: context }, now));
    await writeOutbox(tx, events);
    await resources.changes.record(tx, found.account_id);
    const row = rows.find((one) => one.account_id === found.account_id)!;
    const account = toAccount({ ...row, sandbox_id: found.sandbox_id });
    const { updated_at: _, ...shown } = account;
    const change = { action: 'accounts.update' as const, target: `accounts/${account.id}`, account: account.id };
    await recordChange(call, change, differenceOf(toAccount(found), shown));
    return account;
  },
  committed(resources) {
    resources.changes.announce();
    resources.eventsCommitted();
  },
});

/** Returns the settings after a change. Objects merge by key; lists are replaced. */
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

/** Returns each module once, in the platform's order. */
function inOrder(modules: readonly ModuleName[]): ModuleName[] {
  return moduleNames.filter((name) => modules.includes(name));
}
