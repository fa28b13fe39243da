import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError, type RoutedOperation } from '@customer-platform/contracts/core';
import { type Foundation, limitReached, methodRefusal } from '@customer-platform/service-kit';
import type { ChangeFeed } from '../changes/change-feed.ts';
import { bearerChallenge, bearerToken, isInRanges } from '../http/request-head.ts';
import { KeyCache, UseLog } from '../keys/key-cache.ts';
import { hashOfKey, isWellFormedKey } from '../keys/key-format.ts';
import type { KeyRecord } from '../keys/key-record.ts';
import { InvalidKeys } from '../limits/invalid-keys.ts';
import { LiveGateways } from '../limits/live-gateways.ts';
import { RateLimiter, rateLimited, rateLimitHeader } from '../limits/rate-limiter.ts';
import { openRedis } from '../limits/redis.ts';
import { StreamSlots } from '../limits/stream-slots.ts';
import type { Route } from '../routes/route-table.ts';
import type { GatewayConfig } from '../settings.ts';

/** Dependencies of the checks of a request. */
export interface AdmissionParts {
  keys: KeyCache;
  uses: UseLog;
  invalidKeys: InvalidKeys;
  limiter: RateLimiter;
  clock: () => Date;
}

/** Opens the dependencies of the checks. Call `stop` after the jobs: it closes them and saves the last uses of keys. */
export function openAdmission(
  { config, sql, bus, log, clock, dependencies }: Foundation<GatewayConfig>,
  changes: ChangeFeed,
): AdmissionParts & { slots: StreamSlots; stop(): Promise<void> } {
  const redis = openRedis(config, (error) => log.debug({ err: error }, 'Redis'));
  const gateways = new LiveGateways(bus);
  const slots = new StreamSlots(redis, gateways);
  const uses = new UseLog();
  const limiter = new RateLimiter(redis, gateways, log);
  dependencies.set('Redis', () => limiter.isRedisUnavailable());
  return {
    keys: new KeyCache(sql, changes, config.CONTEXT_SECRET),
    uses,
    invalidKeys: new InvalidKeys(redis, log, clock),
    limiter,
    clock,
    slots,
    async stop() {
      gateways.stop();
      slots.stop();
      await uses
        .save(sql)
        .catch((error: unknown) => log.warn({ err: error }, 'the last uses of keys could not be saved'));
      redis.disconnect();
    },
  };
}

/**
 * Checks key, account, plan, address and rate, in this order; returns the key's record. Once the key is known every response has the rate limit
 * headers. A refusal before the rate check uses no token. Calls `known` with the key once it is known, refused or not.
 */
export async function admit(
  parts: AdmissionParts,
  request: IncomingMessage,
  response: ServerResponse,
  address: string,
  known: (record: KeyRecord) => void,
): Promise<KeyRecord> {
  const record = await identify(parts, request, address);
  known(record);
  const nowMs = parts.clock().getTime();
  if (record.expiresAtMs <= nowMs) throw await invalidKey(parts, address);
  parts.uses.note(record, nowMs);
  const refusal = refusalOf(record, address);
  const state = await parts.limiter.take(record.rate, refusal ? 0 : 1);
  response.setHeader('RateLimit-Policy', record.rate.header);
  response.setHeader('RateLimit', rateLimitHeader(record.rate, state));
  if (refusal) throw refusal;
  if (state < 0) {
    limitReached('key_rate');
    throw rateLimited(-state / 1_000, (seconds) => `This key is over its rate limit; try again in ${seconds} s`);
  }
  return record;
}

/** A request that passed all checks. */
export interface Admitted {
  record: KeyRecord;
  operation: RoutedOperation;
  address: string;
}

/** Checks an admitted request again, except for its rate; returns the current record of its key. Throws like `admit` and `authorize`. */
export async function admitAgain(
  parts: AdmissionParts,
  request: IncomingMessage,
  { record, operation, address }: Admitted,
): Promise<KeyRecord> {
  const hash = hashOfKey(bearerToken(request)!);
  const known = parts.keys.peek(hash);
  const current = known === undefined ? await parts.keys.find(hash) : known;
  if (!current || current.expiresAtMs <= parts.clock().getTime()) throw unusable();
  if (current === record) return record;
  const refusal = refusalOf(current, address);
  if (refusal) throw refusal;
  authorize(current, operation);
  return current;
}

async function identify(parts: AdmissionParts, request: IncomingMessage, address: string): Promise<KeyRecord> {
  const key = bearerToken(request);
  if (key === undefined) {
    throw new ApiError('key_required', 'Send an API key: Authorization: Bearer cp_live_… (see /docs)', {
      headers: bearerChallenge,
    });
  }
  const hash = hashOfKey(key);
  let record = parts.keys.peek(hash);
  if (record === undefined) record = isWellFormedKey(key) ? await parts.keys.find(hash) : null;
  if (record) return record;
  throw await invalidKey(parts, address);
}

/** Counts an invalid key; returns the error, which is 429 if its address has sent too many. */
async function invalidKey({ invalidKeys }: AdmissionParts, address: string): Promise<ApiError> {
  const waitMs = await invalidKeys.count(address);
  if (waitMs === 0) return unusable();
  limitReached('invalid_keys');
  return rateLimited(waitMs, (seconds) => `Too many invalid keys from this address; try another one in ${seconds} s`);
}

function unusable(): ApiError {
  return new ApiError('invalid_key', 'This API key is invalid: mistyped, revoked or expired', {
    headers: bearerChallenge,
  });
}

/** Returns the refusal of a valid key because of its account, its plan or the address. */
export function refusalOf(record: KeyRecord, address: string): ApiError | undefined {
  if (record.account.suspended) return new ApiError('account_suspended', 'This account is suspended');
  if (!record.planHasApi) {
    return new ApiError('plan_excludes_api', "This account's plan does not include the API; change the plan");
  }
  if (record.allowedAddresses.length > 0 && !isInRanges(address, record.allowedAddresses)) {
    return new ApiError(
      'address_not_allowed',
      `This key may not be used from ${address}; add it to the key's allowed_addresses`,
    );
  }
  return undefined;
}

/** Returns the operation of a method at a route. Throws 404 without a route, and 405 with Allow for another method. */
export function operationAt(route: Route | undefined, method: string): RoutedOperation {
  if (!route) throw new ApiError('not_found', 'No operation exists at this path');
  const operation = route.byMethod.get(method === 'HEAD' ? 'GET' : method);
  if (operation) return operation;
  throw methodRefusal(method, route.allow);
}

/** Checks the requirements of an operation: its module, then its scope. */
export function authorize(record: KeyRecord, operation: RoutedOperation): void {
  const { gate, scope } = operation;
  if (gate !== null && !record.modules.has(gate)) {
    const why = record.planModules.has(gate) ? 'is switched off for this account' : "is not in this account's plan";
    throw new ApiError('module_off', `The module ${gate} ${why}`);
  }
  if (scope !== null && !record.scopes.has(scope) && !record.scopes.has('*')) {
    throw new ApiError('scope_missing', `This key lacks the scope ${scope}`);
  }
}
