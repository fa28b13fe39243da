import { randomUUIDv7 } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AccountContext } from '@customer-platform/contracts/core';
import {
  type BoundOperation,
  bindOperations,
  createApp,
  type Foundation,
  noAccount,
  refuseUnhandled,
  sendErrorEnvelopes,
} from '@customer-platform/service-kit';
import { bearerToken, tokenRefusal } from '../http/request-head.ts';
import { requestLog, whenServed } from '../http/request-log.ts';
import { WrongTokens } from '../limits/wrong-tokens.ts';
import type { PublicParts } from '../public/public-handler.ts';
import type { GatewayConfig } from '../settings.ts';
import type { AdminResources } from './admin-operation.ts';
import type { AdminTokens } from './admin-tokens.ts';
import { consoleServer } from './console/console.ts';

/** Header for the name of the token's holder. Overwrites a value sent by the client. */
const actorHeader = 'admin-actor';

/** The account of the control plane's requests, under which idempotent responses are stored. `name` becomes the operator's name. */
const operator: AccountContext = {
  id: noAccount,
  owner: noAccount,
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
 * Returns the request handler of the second listener. It serves the admin operations for holders of an admin token, the console's
 * files, and health checks.
 */
export function controlPlane(
  foundation: Foundation<GatewayConfig>,
  operations: readonly BoundOperation<AdminResources>[],
  resources: AdminResources,
  options: Pick<PublicParts, 'serveHealth' | 'addressOf'> & { tokens: AdminTokens },
) {
  const { log, config } = foundation;
  const serveConsole = consoleServer(config.ENVIRONMENT_NAME);
  const app = createApp();
  const wrongTokens = new WrongTokens();
  const lines = requestLog(log);
  app.use((request, response, next) => {
    const requestId = randomUUIDv7();
    request.headers['request-id'] = requestId;
    response.setHeader('Request-Id', requestId);
    if (options.serveHealth(request, response) || serveConsole(request, response)) return;
    if (resources.traces.receiver?.serve(request, response)) return;
    const logged = lines?.request(request, response);
    if (logged) whenServed(response, () => logged({ operation: response.locals.operation as string | undefined }));
    // Without a token a caller learns nothing, not even which paths exist.
    const actor = options.tokens.actorOf(bearerToken(request) ?? '');
    if (actor !== undefined) {
      request.headers[actorHeader] = actor;
      next();
      return;
    }
    const refusal = tokenRefusal(request, 'admin', 'ADMIN_TOKEN');
    wrongTokens.refuse(options.addressOf(request), refusal, response, () => refuseUnhandled(response, refusal, log));
  });
  bindOperations(app, operations, {
    ...foundation,
    resources,
    authenticate: ({ headers }) => ({ ...operator, name: String(headers[actorHeader]) }),
  });
  sendErrorEnvelopes(app, log);
  return (request: IncomingMessage, response: ServerResponse, continues: boolean): void => {
    if (continues) response.writeContinue();
    app(request, response);
  };
}
