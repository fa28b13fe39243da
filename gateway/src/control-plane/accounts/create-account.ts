import { accountCreated, adminOperations, defaultRateLimit } from '@customer-platform/contracts/accounts';
import { type ModuleName, moduleNames } from '@customer-platform/contracts/core';
import { toAccount, toContext } from '../../accounts/account-shape.ts';
import { insertAccount, type NewAccount, sandboxName } from '../../accounts/accounts.sql.ts';
import { countryOfZone, isCountry, timezoneName } from '../../accounts/time-zones.ts';
import { mainCell } from '../../cells/read-cells.ts';
import { emitFor, implement } from '../admin-operation.ts';
import { recordChange } from '../audit/record-change.ts';

/** Creates an account and its sandbox. */
export const createAccount = implement(adminOperations.createAccount, {
  async handle(call) {
    const { tx, body, now, fail, resources } = call;
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
      cell: resources.cells.named(body.cell ?? mainCell).name,
      plan_name: plan.name,
      plan_api: plan.api,
      plan_modules: inOrder(plan.modules),
      modules_off: moduleNames.filter((name) => body.modules?.[name]?.on === false),
      ...(body.rate_limit ?? defaultRateLimit),
    };
    const account = await insertAccount(tx, wanted, now);
    const twin = { ...wanted, parent_id: account.account_id, name: sandboxName(body.name) };
    const sandbox = await insertAccount(tx, twin, now);
    for (const context of [toContext(account), toContext(sandbox)]) {
      await emitFor(call, accountCreated, context, { account: context });
    }
    const created = toAccount({ ...account, sandbox_id: sandbox.account_id }, resources.cells);
    const { id } = created;
    await recordChange(call, { action: 'accounts.create', target: `accounts/${id}`, account: id }, { after: created });
    return created;
  },
  committed: (resources) => resources.eventsCommitted(),
});

/** Returns each module once, in the platform's order. */
export function inOrder(modules: readonly ModuleName[]): ModuleName[] {
  return moduleNames.filter((name) => modules.includes(name));
}
