import type { Deprecation, ErrorEnvelope } from '@customer-platform/contracts/core';
import type { Express, Request, RequestHandler, Response } from 'express';
import { serviceUnavailable } from '../database/database-errors.ts';
import { bodyReader } from '../http/bodies/request-body.ts';
import { inServerSpan, pathOf, refuseOtherMethods, routePattern, send, sendError } from '../http/responses.ts';
import { limitReached } from '../telemetry/limits.ts';
import { activeRequests, requestDuration } from '../telemetry/request-metrics.ts';
import { describeSpan, httpMethod } from '../telemetry/telemetry.ts';
import { noAccount } from '../values/no-account.ts';
import { type BindingContext, read, Steps } from './call.ts';
import type { BeginStream, BoundOperation } from './operation.ts';
import { write } from './write.ts';

/** Maximum number of concurrent requests. More get 503 instead of joining an unbounded queue. */
const maxConcurrentRequests = 1_000;

/** Serves operations on an Express app, with one route each by its contract. */
export function bindOperations<Resources>(
  app: Express,
  operations: readonly BoundOperation<Resources>[],
  context: BindingContext<Resources>,
): void {
  const ownerOf = (request: Request) => context.authenticate(request).owner;
  const methods = new Map<string, string[]>();
  for (const bound of operations) {
    const { operation } = bound;
    const steps = new Steps(bound, context);
    const handle = (request: Request, response: Response) => {
      response.locals.operation = operation.key;
      const attributes = { 'url.path': pathOf(request), 'platform.operation': operation.key };
      // Leaves out operators' reads, since tools that show traces poll them.
      const isUntraced = operation.method === 'GET' && operation.path.startsWith('/admin/');
      const span = { route: operation.path, attributes, isUntraced };
      return inServerSpan(request, span, () => serve(steps, request, response));
    };
    const path = routePattern(operation.path);
    const route = app.route(path);
    const served = operation.method === 'GET' ? ['GET', 'HEAD'] : [operation.method];
    methods.set(path, [...(methods.get(path) ?? []), ...served]);
    const marks = operation.deprecated ? [markDeprecated(operation.deprecated)] : [];
    if (operation.method === 'GET') route.get(...marks, handle);
    else route[operation.method.toLowerCase() as 'post'](...marks, bodyReader(operation, ownerOf), handle);
  }
  for (const [path, allowed] of methods) refuseOtherMethods(app, path, [...allowed, 'OPTIONS'].join(', '));
}

/**
 * Returns a handler that marks every response of a deprecated operation, including refusals. `Deprecation` (RFC 9745) and `Sunset` (RFC 8594)
 * hold the days. `Link` holds the path of its successor, with the values of the parameters that both paths have.
 */
function markDeprecated({ since, sunset, instead }: Deprecation): RequestHandler {
  const headers = { Deprecation: `@${Date.parse(since) / 1_000}`, Sunset: new Date(sunset).toUTCString() };
  return ({ params }, response, next) => {
    const path = instead.path.replaceAll(/\{(\w+)\}/g, (braced, name: string) =>
      encodeURIComponent(String(params[name] ?? braced)),
    );
    response.set({ ...headers, Link: `<${path}>; rel="successor-version"` });
    next();
  };
}

/** Responds to a request, whatever happens, records the duration and returns the status. */
async function serve<Resources>(steps: Steps<Resources>, request: Request, response: Response): Promise<number> {
  const beganMs = performance.now();
  const method = httpMethod(request.method);
  activeRequests.add(1, { 'http.request.method': method });
  let status: number;
  try {
    status = await respond(steps, request, response);
  } catch (error) {
    status = sendError(response, error, steps.context.log);
  } finally {
    activeRequests.add(-1, { 'http.request.method': method });
  }
  const ms = performance.now() - beganMs;
  requestDuration.record(ms / 1000, {
    'http.request.method': method,
    'http.route': steps.operation.path,
    'http.response.status_code': status,
  });
  const { log } = steps.context;
  if (log.isLevelEnabled('debug')) log.debug({ operation: steps.operation.key, status, ms }, 'request');
  return status;
}

/** Responds to a request and returns the status. Throws the refusal. */
async function respond<Resources>(steps: Steps<Resources>, request: Request, response: Response): Promise<number> {
  const { operation, context } = steps;
  const { connections } = context;
  if (connections.requestsUnderWay >= maxConcurrentRequests) {
    limitReached('requests');
    throw serviceUnavailable('Too many requests are in progress; try again shortly');
  }
  connections.requestsUnderWay++;
  try {
    const account = context.authenticate(request);
    if (account.id !== noAccount) describeSpan({ 'platform.account': account.id });
    if (operation.streams) {
      // A stream counts as a request until it has begun.
      const begin = (await read(steps, request, account)) as BeginStream;
      begin(response);
      return operation.status;
    }
    if (operation.method === 'GET') {
      const value = await context.clocks.by(account.id, () => read(steps, request, account));
      send(response, operation.status, JSON.stringify(value));
      return operation.status;
    }
    const served = await context.clocks.by(account.id, () => write(steps, request, account));
    if (served.isReplay) response.setHeader('Idempotent-Replayed', 'true');
    // A refusal stored under a key is sent without its own headers, so its code comes from the body.
    if (served.status >= 400) response.setHeader('Error-Code', (JSON.parse(served.body!) as ErrorEnvelope).error.code);
    send(response, served.status, served.body);
    return served.status;
  } finally {
    connections.requestsUnderWay--;
  }
}
