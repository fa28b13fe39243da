import { hash, randomUUIDv7, timingSafeEqual } from 'node:crypto';
import { adminOperations } from '@customer-platform/contracts/accounts';
import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import {
  addHealth,
  askAs,
  type BoundOperation,
  bindOperations,
  createApp,
  endWithEnvelopes,
  type Foundation,
  sendError,
} from '@customer-platform/service-kit';
import type { AdminResources } from './admin-operation.ts';

/** Under which the control plane's keyed answers are stored: it acts for no account. */
const operator: AccountContext = {
  id: '00000000-0000-0000-0000-000000000000',
  name: 'control plane',
  mode: 'live',
  timezone: 'UTC',
  country: 'ZZ',
  language: 'en',
  currency: 'EUR',
  modules: [],
};

/** Answers that show an API key are stored nowhere: these operations do without Idempotency-Key. */
const showsKey = new Set<string>([adminOperations.createKey.path, adminOperations.rotateKey.path]);

/** The second listener's app: the admin operations for the holder of `token`, and health. */
export function controlPlane(
  foundation: Foundation,
  operations: readonly BoundOperation<AdminResources>[],
  resources: AdminResources,
  token: string,
) {
  const { sql, log, clock, bus } = foundation;
  const app = createApp();
  app.use((request, response, next) => {
    const requestId = randomUUIDv7();
    request.headers['request-id'] = requestId;
    response.setHeader('Request-Id', requestId);
    next();
  });
  addHealth(app, async () => await sql`select 1`);
  // A stranger learns nothing here, not even which paths exist.
  app.use((request, response, next) => {
    try {
      authenticate(request.headers.authorization, token);
    } catch (error) {
      sendError(response, error, log);
      return;
    }
    next();
  });
  for (const path of showsKey) {
    app.post(path.replace(/\{(\w+)\}/g, ':$1'), (request, _response, next) => {
      delete request.headers['idempotency-key'];
      next();
    });
  }
  bindOperations(app, operations, {
    sql,
    log,
    clock,
    resources,
    authenticate: () => operator,
    askFor: (account) => askAs(bus, account.id),
    eventsCommitted: foundation.eventsCommitted,
  });
  endWithEnvelopes(app, log);
  return app;
}

function authenticate(authorization: string | undefined, token: string): void {
  const headers = { 'WWW-Authenticate': 'Bearer' };
  const given = /^bearer +(\S.*)$/i.exec(authorization ?? '')?.[1];
  if (given === undefined) {
    throw new ApiError('key_required', 'Send the admin token: Authorization: Bearer <ADMIN_TOKEN>', { headers });
  }
  // Hashes have one length: comparing them takes the same time for every guess.
  const isRight = timingSafeEqual(hash('sha256', given.trim(), 'buffer'), hash('sha256', token, 'buffer'));
  if (!isRight) throw new ApiError('invalid_key', 'This is not the admin token', { headers });
}
