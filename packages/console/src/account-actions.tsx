import type { ModuleName, Scope } from '@customer-platform/contracts/core';
import { call, type Output } from './api.ts';
import { scopes } from './scopes.ts';
import { type Action, reasonField, reasonIn } from './ui/action.tsx';
import { Copyable } from './ui/copy.tsx';
import { countOf, shortId } from './ui/format.ts';

export type Account = Output<'GET /admin/accounts/{account_id}'>;
export type Key = Output<'GET /admin/accounts/{account_id}/keys'>['data'][number];
export type Member = Output<'GET /admin/accounts/{account_id}/members'>['data'][number];

/** Returns an account's name with the end of its id, since several accounts may have the same name. */
function named({ name, id }: Account): string {
  return `${name} ${shortId(id)}`;
}

function NewKey({ secret, message }: { secret: string; message: string }) {
  return (
    <>
      <p>{message} The key is shown only now.</p>
      <Copyable value={secret} label="the key" />
    </>
  );
}

/** Creates a key and shows it once. */
export function createKeyAction(account: Account): Action {
  return {
    title: `Create key for ${named(account)}`,
    confirm: 'Create key',
    touches: 'Creates one key and shows it once.',
    fields: [
      { name: 'name', label: 'Name', maxLength: 120, isRequired: true },
      { name: 'mode', label: 'Mode', options: ['live', 'test'], value: 'live', hint: 'Test keys act on the sandbox.' },
      { name: 'scopes', label: 'Scopes', options: scopes, isList: true, hint: '* means all scopes.' },
      {
        name: 'addresses',
        label: 'Allowed addresses',
        hint: 'IP addresses or CIDR ranges, separated by commas. Empty: any address.',
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
      return <NewKey secret={key} message={`Created the ${body.mode} key “${body.name}”.`} />;
    },
  };
}

/** Replaces a key with a new one, which is shown once. */
export function rotateKeyAction({ id, name, mode, last4 }: Key): Action {
  return {
    title: `Rotate key ${name}`,
    confirm: 'Rotate',
    touches: `Replaces the ${mode} key that ends in ${last4} with a new key that has the same scopes. The old key ends after the overlap.`,
    fields: [
      {
        name: 'overlap_seconds',
        label: 'Overlap in seconds',
        type: 'number',
        min: 0,
        max: 604_800,
        isRequired: true,
        hint: 'How long both keys work: 0 if the key leaked, up to 604800 (one week) for a planned rotation.',
      },
      reasonField,
    ],
    isShownOnce: true,
    run: async (values) => {
      const body = { overlap_seconds: Number(values.get('overlap_seconds')), ...reasonIn(values) };
      const { key } = await call('POST /admin/keys/{key_id}/rotate', { params: { key_id: id }, body });
      return <NewKey secret={key} message={`Rotated the key “${name}”.`} />;
    },
  };
}

/** Returns when a key was revoked or expired; null while it is valid. */
export function endedAt({ revoked_at, expires_at }: Key): string | null {
  return revoked_at ?? (expires_at && Date.parse(expires_at) <= Date.now() ? expires_at : null);
}

/** Revokes a key. */
export function revokeKeyAction({ id, name, mode, last4, last_used_at }: Key): Action {
  const use = last_used_at
    ? `It was last used at ${new Date(last_used_at).toLocaleString('en-GB')}.`
    : 'It was never used.';
  return {
    title: `Revoke key ${name}`,
    confirm: 'Revoke',
    isDangerous: true,
    touches: `Revokes the ${mode} key that ends in ${last4}. ${use} Within 1 s, requests with this key are refused. This cannot be undone.`,
    fields: [reasonField],
    run: async (values) => {
      await call('DELETE /admin/keys/{key_id}', { params: { key_id: id }, query: reasonIn(values) });
      return `Revoked the key “${name}”.`;
    },
  };
}

/** Adds a team member to an account. */
export function addMemberAction(account: Account): Action {
  return {
    title: `Add member to ${named(account)}`,
    confirm: 'Add',
    touches: 'Adds one member, or reactivates a removed one.',
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
    touches: `In ${named(account)}, ${email} becomes inactive. Their data is kept.`,
    fields: [reasonField],
    run: async (values) => {
      const params = { account_id: account.id, member_id: id };
      await call('DELETE /admin/accounts/{account_id}/members/{member_id}', { params, query: reasonIn(values) });
      return `Removed ${name}.`;
    },
  };
}

/** Suspends an active account, or activates a suspended one. */
export function statusAction(account: Account, keys: number): Action {
  const isActive = account.status === 'active';
  const touched = `${named(account)} and its sandbox`;
  return {
    title: `${isActive ? 'Suspend' : 'Activate'} ${named(account)}`,
    confirm: isActive ? 'Suspend' : 'Activate',
    isDangerous: isActive,
    touches: isActive
      ? `Within 1 s, requests of ${touched} are refused, whatever their key. This page shows ${countOf(keys, 'valid key')}.`
      : `Within 1 s, requests of ${touched} are accepted again.`,
    fields: [reasonField],
    run: async (values) => {
      const body = { status: isActive ? ('suspended' as const) : ('active' as const), ...reasonIn(values) };
      const changed = await call('PATCH /admin/accounts/{account_id}', { params: { account_id: account.id }, body });
      return `${changed.name} is ${changed.status}.`;
    },
  };
}

/** All modules. Importing the contract's list as a value would bundle its schemas. */
const moduleNames: Record<ModuleName, true> = { calendar: true, agents: true, cdp: true, catalogue: true, crm: true };
const modules = Object.keys(moduleNames) as ModuleName[];

/** Changes an account's name and rate limit. */
export function editAction(account: Account): Action {
  const { per_minute, burst } = account.rate_limit;
  const limit = { type: 'number', min: 1, max: 1_000_000, isRequired: true } as const;
  return {
    title: `Edit ${named(account)}`,
    confirm: 'Save',
    touches: 'Changes one account, its sandbox, and the rate of keys without their own limit.',
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
    touches: 'Changes the plan. Within 1 s, operations of modules that are not in the plan get 404 module_off.',
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

/** Switches a module of the plan on. `planAction` adds a module to the plan. */
export function switchOnAction(account: Account, module: ModuleName): Action {
  return {
    title: `Switch ${module} on for ${named(account)}`,
    confirm: 'Switch on',
    touches: `Within 1 s, operations of ${module} are accepted again, also in the sandbox. First ask the person who switched it off: Last changes has the name and reason.`,
    fields: [reasonField],
    run: async (values) => {
      const body = { modules: { [module]: { on: true } }, ...reasonIn(values) };
      await call('PATCH /admin/accounts/{account_id}', { params: { account_id: account.id }, body });
      return `Switched ${module} on for ${account.name}.`;
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
      'Within 1 s, operations of a module that is off get 404 module_off, also in the sandbox. No data is deleted.',
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
