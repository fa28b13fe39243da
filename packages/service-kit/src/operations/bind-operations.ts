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

/** Maximum number of requests that are worked on at once; more are refused with 503 rather than queued without bound. */
const maxConcurrentRequests = 1_000;

/** Serves operations on an Express app: one route each, from its contract. */
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
      // Operators' reads are repeated by what shows the traces.
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
 * Returns a handler that marks every response of an operation that will end, refusals too: `Deprecation` (RFC 9745) and `Sunset`
 * (RFC 8594) have the days, `Link` the path of its successor, with the values of the parameters that both paths have.
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

/** Responds to a request, whatever happens, and measures how long that takes; returns the status. */
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

/** Responds to a request; returns the status. Throws what it is refused with. */
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
      // It counts as a request until it has begun.
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
    // A refusal that is stored under a key is sent as it is stored: without its headers.
    if (served.status >= 400) response.setHeader('Error-Code', (JSON.parse(served.body!) as ErrorEnvelope).error.code);
    send(response, served.status, served.body);
    return served.status;
  } finally {
    connections.requestsUnderWay--;
  }
}
