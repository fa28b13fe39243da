import * as contract from '@customer-platform/contracts/accounts';
import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import { countSerially, implementer, type Sql } from '@customer-platform/service-kit';
import { joinTeam, leaveTeam, pageOfMembers } from '../accounts/change-members.ts';
import { lockMember } from '../accounts/members.sql.ts';
import type { ChangeFeed } from '../changes/change-feed.ts';
import { endKey, issueKey, pageOfKeys, replaceKey } from '../keys/change-keys.ts';
import { keyOf } from '../keys/key-record.ts';
import { type KeyRow, lockKey, workingKeys } from '../keys/keys.sql.ts';

const implement = implementer<{ changes: ChangeFeed; eventsCommitted(): void }>();

/** Lists the team of the account that the key acts as. */
export const listTeamMembers = implement(contract.listTeamMembers, {
  handle: async ({ tx, account, query }) => await pageOfMembers(tx, account.id, query),
});

export const addTeamMember = implement(contract.addTeamMember, {
  handle: async (call) => await joinTeam(call, call.account, call.body),
  committed: ({ eventsCommitted }) => eventsCommitted(),
});

export const removeTeamMember = implement(contract.removeTeamMember, {
  find: ({ tx, account, params }) => lockMember(tx, account.id, params.member_id),
  handle: async (call) => await leaveTeam(call, call.account, call.found),
  committed: ({ eventsCommitted }) => eventsCommitted(),
});

/** Lists the keys of the account, for a test key only its test keys. */
export const listApiKeys = implement(contract.listApiKeys, {
  handle: async ({ tx, account, query }) => await pageOfKeys(tx, seenBy(account), query),
});

/** Maximum active keys of one mode that an account's own keys may create. */
const maxKeys = 1_000;

/** Issues a key that has no more rights than the key that creates it. */
export const createApiKey = implement(contract.createApiKey, {
  async handle(call) {
    const { account, body, fail } = call;
    if (account.mode === 'test' && body.mode === 'live')
      fail('invalid_request', 'mode must be test, because a test key can only create test keys', 'mode');
    const missing = missingOf(account, body.scopes);
    if (missing.length > 0)
      fail('invalid_request', `scopes must be among those of your key, which lacks ${missing.join(', ')}`, 'scopes');
    const { per_minute, burst } = await requireRoomForKey(call, body.mode);
    const rate_limit = per_minute === null ? undefined : { per_minute, burst: burst! };
    return await issueKey(call, seenBy(account), { ...body, rate_limit });
  },
  replayed: (account, { scopes }) => requireScopes(account, scopes),
});

export const rotateApiKey = implement(contract.rotateApiKey, {
  find: findChangeable,
  async handle(call) {
    await requireRoomForKey(call, call.found.mode);
    return await replaceKey(call, call.found, call.body, call.account.timezone);
  },
  committed: ({ changes }) => changes.announce(),
  replayed: (account, { scopes }) => requireScopes(account, scopes),
});

export const revokeApiKey = implement(contract.revokeApiKey, {
  find: findChangeable,
  handle: async (call) => await endKey(call, call.found),
  committed: ({ changes }) => changes.announce(),
});

/**
 * Returns the key of a call, locked. Throws 401 if it was revoked since the request was admitted, so that a revoked key
 * creates no more keys. Throws 409 if the account has the maximum of keys.
 */
async function requireRoomForKey(
  { tx, account, now }: { tx: Sql; account: AccountContext; now: Date },
  mode: KeyRow['mode'],
): Promise<KeyRow> {
  const { keyId, ownerId } = keyOf(account);
  const own = await lockKey(tx, keyId);
  if (!own || own.revoked_at) throw new ApiError('invalid_key', 'This API key is revoked');
  const keys = await countSerially(tx, `keys ${ownerId} ${mode}`, workingKeys(tx, { account_id: ownerId, mode }, now));
  if (keys < maxKeys) return own;
  const message = `An account may have at most ${maxKeys} active ${mode} keys; revoke one that you do not need`;
  throw new ApiError('invalid_state', message);
}

/** Returns the keys that a call's key sees: those of its account, for a test key only test keys. */
function seenBy(account: AccountContext) {
  const { mode, timezone } = account;
  return { account_id: keyOf(account).ownerId, parent_id: null, timezone, mode: mode === 'test' ? mode : undefined };
}

/** Finds a key to rotate or revoke. Throws 403 if the key of the call lacks any of its scopes. */
async function findChangeable(call: { tx: Sql; account: AccountContext; params: { key_id: string } }) {
  const found = await lockKey(call.tx, call.params.key_id, seenBy(call.account));
  if (found) requireScopes(call.account, found.scopes);
  return found;
}

/** Throws 403 scope_missing if the key of a call lacks any of these scopes. */
function requireScopes(account: AccountContext, scopes: readonly string[]): void {
  const missing = missingOf(account, scopes);
  if (missing.length > 0)
    throw new ApiError('scope_missing', `Your key must have all scopes of that key; it lacks ${missing.join(', ')}`);
}

/** Returns the scopes that the key of a call lacks. Only `*` covers `*`, because `*` includes future scopes. */
function missingOf(account: AccountContext, scopes: readonly string[]): string[] {
  const own: ReadonlySet<string> = keyOf(account).scopes;
  return own.has('*') ? [] : scopes.filter((scope) => !own.has(scope));
}
