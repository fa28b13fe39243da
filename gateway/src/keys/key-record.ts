import type { AccountContext } from '@customer-platform/contracts/core';
import { contextSigner } from '@customer-platform/service-kit';
import { toContext } from '../accounts/account-shape.ts';
import { parseRange } from '../http/request-head.ts';
import { ratePolicy } from '../limits/rate-limiter.ts';
import type { KeyWithAccount } from './keys.sql.ts';

/** Everything that a request needs of its key, computed once when the key is read. */
export type KeyRecord = ReturnType<typeof toKeyRecord>;

/** Returns the record of a key. Its limits are its own, or else its account's. */
export function toKeyRecord(row: KeyWithAccount, contextSecret: string) {
  const account = toContext(row);
  const rateLimit = { per_minute: row.key_per_minute ?? row.per_minute, burst: row.key_burst ?? row.burst };
  return {
    keyId: row.key_id,
    last4: row.last4,
    /** The account that the key was issued to. `account` is the one that it acts as. */
    ownerId: row.owner_id,
    account,
    planHasApi: row.plan_api,
    planModules: new Set(row.plan_modules),
    modules: new Set(account.modules),
    scopes: new Set(row.scopes),
    allowedAddresses: row.allowed_addresses.map(parseRange),
    rateLimit,
    rate: ratePolicy(row.key_id, rateLimit),
    expiresAtMs: row.ends_at?.getTime() ?? Number.POSITIVE_INFINITY,
    /** Time of the last use, and whether it still has to be saved. */
    usedAtMs: 0,
    isUseUnsaved: false,
    signer: contextSigner(contextSecret, account),
  };
}

/** The account that a key acts as, with the key. Its name is the key's name in the audit log. */
interface ActingAccount extends AccountContext {
  key: KeyRecord;
}

export const accountOf = (key: KeyRecord): ActingAccount => ({ ...key.account, name: `key:…${key.last4}`, key });

/** Returns the key of an account returned by `accountOf`. */
export const keyOf = (account: AccountContext): KeyRecord => (account as ActingAccount).key;
