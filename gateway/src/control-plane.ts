import { hash, randomUUIDv7, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import {
  askAs,
  type BoundOperation,
  bindOperations,
  createApp,
  endWithEnvelopes,
  type Foundation,
  ResponseSeal,
  sendError,
} from '@customer-platform/service-kit';
import type { AdminResources } from './admin-operation.ts';
import type { PublicParts } from './proxy/public-handler.ts';
import type { GatewayConfig } from './settings.ts';
import { WrongTokens } from './wrong-tokens.ts';

/** Account under which the control plane's responses to idempotency keys are stored: it acts for none. */
const operator: AccountContext = {
  id: '00000000-0000-0000-0000-000000000000',
  owner: '00000000-0000-0000-0000-000000000000',
  name: 'control plane',
  mode: 'live',
  timezone: 'UTC',
  country: 'ZZ',
  language: 'en',
  currency: 'EUR',
  modules: [],
  suspended: false,
};

/**
 * Returns the handler of the second listener's requests: the admin operations for the holder of the admin token, and
 * health.
 */
export function controlPlane(
  foundation: Foundation<GatewayConfig>,
  operations: readonly BoundOperation<AdminResources>[],
  resources: AdminResources,
  options: Pick<PublicParts, 'serveHealth' | 'addressOf'>,
) {
  const { log, config } = foundation;
  const app = createApp();
  const wrongTokens = new WrongTokens();
  app.use((request, response, next) => {
    const requestId = randomUUIDv7();
    request.headers['request-id'] = requestId;
    response.setHeader('Request-Id', requestId);
    if (options.serveHealth(request, response)) return;
    // A stranger learns nothing here, not even which paths exist.
    const refusal = refusalOf(request.headers.authorization, config.ADMIN_TOKEN);
    if (!refusal) {
      next();
      return;
    }
    const address = options.addressOf(request);
    if (refusal.code === 'invalid_key') wrongTokens.count(address);
    wrongTokens.delay(address, response, () => sendError(response, refusal, log));
  });
  bindOperations(app, operations, {
    ...foundation,
    resources,
    authenticate: () => operator,
    askFor: (account) => askAs(foundation.bus, account.id),
    seal: new ResponseSeal(config.CONTEXT_SECRET),
  });
  endWithEnvelopes(app, log);
  return (request: IncomingMessage, response: ServerResponse, continues: boolean): void => {
    if (continues) response.writeContinue();
    app(request, response);
  };
}

/** Returns the refusal of a request without the admin token, undefined if it has it. */
function refusalOf(authorization: string | undefined, token: string): ApiError | undefined {
  const headers = { 'WWW-Authenticate': 'Bearer' };
  const given = /^bearer +(\S.*)$/i.exec(authorization ?? '')?.[1];
  if (given === undefined) {
    return new ApiError('key_required', 'Send the admin token: Authorization: Bearer <ADMIN_TOKEN>', { headers });
  }
  // Hashes have one length: comparing them takes the same time for every guess.
  const isRight = timingSafeEqual(hash('sha256', given.trim(), 'buffer'), hash('sha256', token, 'buffer'));
  return isRight ? undefined : new ApiError('invalid_key', 'The admin token is wrong', { headers });
}
