import type { IncomingMessage, ServerResponse } from 'node:http';
import type * as contract from '@customer-platform/contracts/accounts';
import {
  type AccountContext,
  ApiError,
  type RoutedOperation,
  type ServiceName,
  scopes,
} from '@customer-platform/contracts/core';
import {
  bindOperations,
  Clocks,
  createApp,
  type Foundation,
  type Implements,
  sendErrorEnvelopes,
  WorkQueue,
} from '@customer-platform/service-kit';
import type { Body } from '../bodies/body-intake.ts';
import type { ChangeFeed } from '../changes/change-feed.ts';
import { accountOf, type KeyRecord } from '../keys/key-record.ts';
import { advanceClock } from '../sandbox-clock/advance-clock.ts';
import { clockAdvances } from '../sandbox-clock/clock-advances.ts';
import { clockedServices } from '../sandbox-clock/clocked-services.ts';
import { type ClockResources, getClock } from '../sandbox-clock/get-clock.ts';
import type { GatewayConfig } from '../settings.ts';
import * as selfService from './self-service.ts';

type Resources = ClockResources & { changes: ChangeFeed; eventsCommitted(): void };

/** The gateway's own operations for customers, except /v1/me, which needs no database. */
const operations: Omit<Implements<typeof contract, Resources>, 'getMe'> = {
  getSandboxClock: getClock,
  advanceSandboxClock: advanceClock,
  ...selfService,
};

/** A request of an admitted key, as the public listener passes it on. */
type AdmittedRequest = { record: KeyRecord; operation: RoutedOperation; requestId: string; body: Body | undefined };

/**
 * Starts to move sandbox clocks. `serve` handles a request for one of the gateway's own operations. It throws like
 * `checkClock`, and 400 for a compressed body. `names` are the services with an address.
 */
export function openOwnOperations(
  foundation: Foundation<GatewayConfig>,
  changes: ChangeFeed,
  names: readonly ServiceName[],
) {
  const { sql, bus, clocks, log, eventsCommitted } = foundation;
  const queue = new WorkQueue(foundation, clockAdvances({ sql, clocks, services: clockedServices(bus, names) }));
  const accounts = new WeakMap<IncomingMessage, AccountContext>();
  const app = createApp();
  bindOperations<Resources>(app, Object.values(operations), {
    ...foundation,
    // Keys and members use real time, as for operators. A key's expiry is independent of the sandbox clock.
    clock: clocks.real,
    clocks: new Clocks(clocks.real),
    resources: { clocks, queue, changes, eventsCommitted },
    authenticate: (request) => accounts.get(request)!,
  });
  sendErrorEnvelopes(app, log);
  async function serve(request: IncomingMessage, response: ServerResponse, admitted: AdmittedRequest): Promise<void> {
    const { record, operation, requestId, body } = admitted;
    try {
      if (operation.path === getClock.operation.path) checkClock(record, operation);
      accounts.set(request, accountOf(record));
      request.headers['request-id'] = requestId;
      // The body parser skips a request that has already been read, and would not refuse a compressed body.
      if (body && (request.headers['content-encoding'] ?? 'identity') !== 'identity')
        throw new ApiError('invalid_request', 'body must be sent without Content-Encoding', { field: 'body' });
      if (body) Object.assign(request, { body: Buffer.concat(await body.stream().toArray()) });
    } finally {
      body?.release();
    }
    app(request, response);
  }
  return { serve, stop: () => queue.stop() };
}

/** Throws 404 for a live key, which has no clock. Throws 403 for a key that may not advance a clock. */
function checkClock({ account, scopes: own }: KeyRecord, { method }: RoutedOperation): void {
  if (account.mode !== 'test') throw new ApiError('not_found', 'Only a sandbox has a clock: send a test key');
  const hasEveryScope = own.has('*') || scopes.every((scope) => own.has(scope));
  if (method !== 'GET' && !hasEveryScope)
    throw new ApiError('scope_missing', "Advancing the sandbox's clock needs a test key with every scope");
}
