import type { ModuleName, Scope } from '@customer-platform/contracts/core';
import { call, type Output } from './api.ts';
import { scopes } from './scopes.ts';
import { type Action, reasonField, reasonIn } from './ui/action.tsx';
import { Copyable } from './ui/copy.tsx';
import { countOf, shortId } from './ui/format.ts';

export type Account = Output<'GET /admin/accounts/{account_id}'>;
export type Key = Output<'GET /admin/accounts/{account_id}/keys'>['data'][number];
export type Member = Output<'GET /admin/accounts/{account_id}/members'>['data'][number];

/** Returns an account's name with the end of its id: several may have one name, and a change is of one. */
function named({ name, id }: Account): string {
  return `${name} ${shortId(id)}`;
}

function NewKey({ secret, told }: { secret: string; told: string }) {
  return (
    <>
      <p>{told} This is the only time that it is shown.</p>
      <Copyable value={secret} label="the key" />
    </>
  );
}

/** Creates a key of an account, and shows it once. */
export function createKeyAction(account: Account): Action {
  return {
    title: `Create key of ${named(account)}`,
    confirm: 'Create key',
    touches: 'Creates one key. The key itself is shown once, after this.',
    fields: [
      { name: 'name', label: 'Name', maxLength: 120, isRequired: true },
      { name: 'mode', label: 'Mode', options: ['live', 'test'], value: 'live', hint: 'Test keys act on the sandbox.' },
      { name: 'scopes', label: 'Scopes', options: scopes, isList: true, hint: '* is every scope.' },
      {
        name: 'addresses',
        label: 'Allowed addresses',
        hint: 'IP addresses or CIDR ranges with commas between; empty: any.',
      },
      reasonField,
    ],
    isShownOnce: true,
    run: async (values) => {
      const addresses = String(values.get('addresses'))
        .split(',')
        .map((each) => each.trim());
      const body = {
        name: String(values.get('name')),
        mode: values.get('mode') === 'test' ? ('test' as const) : ('live' as const),
        scopes: values.getAll('scopes') as (Scope | '*')[],
        allowed_addresses: addresses.filter((each) => each !== ''),
        ...reasonIn(values),
      };
      const { key } = await call('POST /admin/accounts/{account_id}/keys', {
        params: { account_id: account.id },
        body,
      });
      return <NewKey secret={key} told={`Created the ${body.mode} key “${body.name}”.`} />;
    },
  };
}

/** Replaces a key by a successor, which is shown once. */
export function rotateKeyAction({ id, name, mode, last4 }: Key): Action {
  return {
    title: `Rotate key ${name}`,
    confirm: 'Rotate',
    touches: `Creates a successor of the ${mode} key that ends in ${last4}, with its scopes. The old key ends after the overlap.`,
    fields: [
      {
        name: 'overlap_seconds',
        label: 'Overlap in seconds',
        type: 'number',
        min: 0,
        max: 604_800,
        isRequired: true,
        hint: 'How long both keys work: 0 if the key leaked, up to 604800, a week, if it is planned.',
      },
      reasonField,
    ],
    isShownOnce: true,
    run: async (values) => {
      const body = { overlap_seconds: Number(values.get('overlap_seconds')), ...reasonIn(values) };
      const { key } = await call('POST /admin/keys/{key_id}/rotate', { params: { key_id: id }, body });
      return <NewKey secret={key} told={`Created the successor of “${name}”.`} />;
    },
  };
}

/** Returns when a key was revoked or expired; null while it works. */
export function endedAt({ revoked_at, expires_at }: Key): string | null {
  return revoked_at ?? (expires_at && Date.parse(expires_at) <= Date.now() ? expires_at : null);
}

/** Ends a key. */
export function revokeKeyAction({ id, name, mode, last4, last_used_at }: Key): Action {
  const use = last_used_at
    ? `It was last used at ${new Date(last_used_at).toLocaleString('en-GB')}.`
    : 'It was never used.';
  return {
    title: `Revoke key ${name}`,
    confirm: 'Revoke',
    isDangerous: true,
    touches: `One ${mode} key, which ends in ${last4}. ${use} Every request with it is refused within 1 s; this cannot be reversed.`,
    fields: [reasonField],
    run: async (values) => {
      await call('DELETE /admin/keys/{key_id}', { params: { key_id: id }, query: reasonIn(values) });
      return `Revoked the key “${name}”.`;
    },
  };
}

/** Adds a member of an account's team. */
export function addMemberAction(account: Account): Action {
  return {
    title: `Add member of ${named(account)}`,
    confirm: 'Add',
    touches: 'Adds one member. A member who was removed becomes active again.',
    fields: [
      { name: 'name', label: 'Name', maxLength: 120, isRequired: true },
      { name: 'email', label: 'Email', type: 'email', isRequired: true },
      reasonField,
    ],
    run: async (values) => {
      const body = { name: String(values.get('name')), email: String(values.get('email')), ...reasonIn(values) };
      const member = await call('POST /admin/accounts/{account_id}/members', {
        params: { account_id: account.id },
        body,
      });
      return `Added ${member.name} (${member.email}).`;
    },
  };
}

/** Makes a member inactive. */
export function removeMemberAction(account: Account, { id, name, email }: Member): Action {
  return {
    title: `Remove ${name}`,
    confirm: 'Remove',
    isDangerous: true,
    touches: `One member of ${named(account)}: ${email} becomes inactive. None of their data is deleted.`,
    fields: [reasonField],
    run: async (values) => {
      const params = { account_id: account.id, member_id: id };
      await call('DELETE /admin/accounts/{account_id}/members/{member_id}', { params, query: reasonIn(values) });
      return `Removed ${name}.`;
    },
  };
}

/** Suspends an account, or ends that. */
export function statusAction(account: Account, keys: number): Action {
  const isActive = account.status === 'active';
  const touched = `${named(account)} and its sandbox`;
  return {
    title: `${isActive ? 'Suspend' : 'Activate'} ${named(account)}`,
    confirm: isActive ? 'Suspend' : 'Activate',
    isDangerous: isActive,
    touches: isActive
      ? `Requests of ${touched} are refused within 1 s: those with ${countOf(keys, 'key')} that is shown here, and any other.`
      : `Requests of ${touched} are taken again within 1 s.`,
    fields: [reasonField],
    run: async (values) => {
      const body = { status: isActive ? ('suspended' as const) : ('active' as const), ...reasonIn(values) };
      const changed = await call('PATCH /admin/accounts/{account_id}', { params: { account_id: account.id }, body });
      return `${changed.name} is ${changed.status}.`;
    },
  };
}

/** Every module, to choose from: the contract's list as a value would bring its schemas along. */
const moduleNames: Record<ModuleName, true> = { calendar: true, agents: true, cdp: true, catalogue: true, crm: true };
const modules = Object.keys(moduleNames) as ModuleName[];

/** Changes an account's name and rate limit. */
export function editAction(account: Account): Action {
  const { per_minute, burst } = account.rate_limit;
  const limit = { type: 'number', min: 1, max: 1_000_000, isRequired: true } as const;
  return {
    title: `Edit ${named(account)}`,
    confirm: 'Save',
    touches: 'One account. Its sandbox follows, and so do keys without a rate limit of their own.',
    fields: [
      { name: 'name', label: 'Name', value: account.name, maxLength: 200, isRequired: true },
      { name: 'per_minute', label: 'Requests per minute', value: per_minute, ...limit },
      { name: 'burst', label: 'Burst', value: burst, ...limit },
      reasonField,
    ],
    run: async (values) => {
      const rate_limit = { per_minute: Number(values.get('per_minute')), burst: Number(values.get('burst')) };
      const body = { name: String(values.get('name')), rate_limit, ...reasonIn(values) };
      await call('PATCH /admin/accounts/{account_id}', { params: { account_id: account.id }, body });
      return `Saved ${body.name}.`;
    },
  };
}

/** Changes what an account's plan includes. */
export function planAction(account: Account): Action {
  const { plan } = account;
  return {
    title: `Plan of ${named(account)}`,
    confirm: 'Save',
    touches: 'What the plan includes. Operations of a module that is not in it get 404 module_off within 1 s.',
    fields: [
      { name: 'name', label: 'Name', value: plan.name, maxLength: 120, isRequired: true },
      {
        name: 'api',
        label: 'API',
        options: ['included', 'not included'],
        value: plan.api ? 'included' : 'not included',
      },
      { name: 'modules', label: 'Modules', options: modules, values: plan.modules, isList: true },
      reasonField,
    ],
    run: async (values) => {
      const changed = {
        name: String(values.get('name')),
        api: values.get('api') === 'included',
        modules: values.getAll('modules') as ModuleName[],
      };
      const body = { plan: changed, ...reasonIn(values) };
      await call('PATCH /admin/accounts/{account_id}', { params: { account_id: account.id }, body });
      return `${account.name} has the plan ${changed.name}.`;
    },
  };
}

/** Switches one module on that is off. One that is not in the plan is put there by `planAction`. */
export function switchOnAction(account: Account, module: ModuleName): Action {
  return {
    title: `Switch ${module} on for ${named(account)}`,
    confirm: 'Switch on',
    touches: `Operations of ${module} are taken again within 1 s, in the sandbox too. Ask first whoever switched it off: Last changes has the reason.`,
    fields: [reasonField],
    run: async (values) => {
      const body = { modules: { [module]: { on: true } }, ...reasonIn(values) };
      await call('PATCH /admin/accounts/{account_id}', { params: { account_id: account.id }, body });
      return `${module} of ${account.name} is on.`;
    },
  };
}

/** Switches modules of an account's plan on and off. */
export function modulesAction(account: Account): Action {
  const inPlan = account.plan.modules;
  return {
    title: `Modules of ${named(account)}`,
    confirm: 'Save',
    touches:
      'Operations of a module that is off get 404 module_off within 1 s, in the sandbox too. No data is deleted.',
    fields: [
      {
        name: 'on',
        label: 'On',
        options: inPlan,
        values: inPlan.filter((name) => account.modules[name]?.on !== false),
        isList: true,
        hint: 'Modules that are not listed are not in the plan.',
      },
      reasonField,
    ],
    run: async (values) => {
      const on = values.getAll('on');
      const switches = Object.fromEntries(inPlan.map((name) => [name, { on: on.includes(name) }]));
      const body = { modules: switches, ...reasonIn(values) };
      await call('PATCH /admin/accounts/{account_id}', { params: { account_id: account.id }, body });
      return `Modules of ${account.name} that are on: ${on.join(', ') || 'none'}.`;
    },
  };
}
