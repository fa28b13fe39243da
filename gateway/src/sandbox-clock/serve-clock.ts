import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type AccountContext,
  ApiError,
  type RoutedOperation,
  type ServiceName,
  scopes,
} from '@customer-platform/contracts/core';
import {
  bindOperations,
  createApp,
  endWithEnvelopes,
  type Foundation,
  WorkQueue,
} from '@customer-platform/service-kit';
import type { Body } from '../bodies/body-intake.ts';
import type { KeyRecord } from '../keys/key-record.ts';
import type { GatewayConfig } from '../settings.ts';
import { advanceClock } from './advance-clock.ts';
import { clockAdvances } from './clock-advances.ts';
import { clockedServices } from './clocked-services.ts';
import { type ClockResources, getClock } from './get-clock.ts';

/** A request as the public listener knows it, of a key that was admitted. */
interface AdmittedRequest {
  record: KeyRecord;
  operation: RoutedOperation;
  requestId: string;
  /** Returns the whole body, if there is one. */
  takeBody(): Promise<Body | undefined>;
}

/**
 * Starts to move the clocks of sandbox accounts. `serve` handles a request for the gateway's own operations on them; it throws 404 for a live key,
 * and 403 for one that may not advance a clock. `names` are the services that have an address.
 */
export function openSandboxClocks(foundation: Foundation<GatewayConfig>, names: readonly ServiceName[]) {
  const { sql, bus, clocks, log } = foundation;
  const queue = new WorkQueue(foundation, clockAdvances({ sql, clocks, services: clockedServices(bus, names) }));
  const accounts = new WeakMap<IncomingMessage, AccountContext>();
  const app = createApp();
  bindOperations<ClockResources>(app, [getClock, advanceClock], {
    ...foundation,
    resources: { clocks, queue },
    authenticate: (request) => accounts.get(request)!,
  });
  endWithEnvelopes(app, log);
  async function serve(request: IncomingMessage, response: ServerResponse, admitted: AdmittedRequest): Promise<void> {
    const { record, operation, requestId, takeBody } = admitted;
    if (record.account.mode !== 'test') throw new ApiError('not_found', 'Only a sandbox has a clock: send a test key');
    const hasEveryScope = record.scopes.has('*') || scopes.every((scope) => record.scopes.has(scope));
    if (operation.method !== 'GET' && !hasEveryScope)
      throw new ApiError('scope_missing', "Advancing the sandbox's clock needs a test key with every scope");
    accounts.set(request, record.account);
    request.headers['request-id'] = requestId;
    const body = await takeBody();
    try {
      // A request that is read to its end is left as it is by what reads bodies.
      if (body) Object.assign(request, { body: Buffer.concat(await body.stream().toArray()) });
    } finally {
      body?.letGo();
    }
    app(request, response);
  }
  return { serve, stop: () => queue.stop() };
}
