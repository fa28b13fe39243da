import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import type { Attributes } from '@opentelemetry/api';
import type { Express, NextFunction, Request, Response } from 'express';
import { isDatabaseUnavailable, isTemporaryFailure, serviceUnavailable } from '../database/database-errors.ts';
import { ClientGone } from '../fairness/fair-permits.ts';
import { limitReached } from '../telemetry/limits.ts';
import { type Logger, withWorkContext } from '../telemetry/logging.ts';
import { requestDuration } from '../telemetry/request-metrics.ts';
import { httpMethod, inSpan, SpanKind, setHttpStatus, traceOfRequest } from '../telemetry/telemetry.ts';

/** Status of a request whose client disconnected, in logs and metrics. */
export const clientGone = 499;

/** Converts a contract's path template to the syntax of Express: `{name}` becomes `:name`. */
export function routePattern(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

/** Responds to OPTIONS with the methods that a path allows, and refuses other methods. */
export function refuseOtherMethods(app: Express, path: string, allow: string): void {
  app.all(path, (request: Request, response: Response) => {
    if (request.method !== 'OPTIONS') throw methodRefusal(request.method, allow);
    sendAllow(response, allow);
  });
}

/** Returns the refusal of a method that a path does not allow; `allow` lists those that it allows. */
export function methodRefusal(method: string, allow: string): ApiError {
  const message = `${method} is not allowed at this path; use a method listed in Allow`;
  return new ApiError('invalid_request', message, { status: 405, headers: { Allow: allow } });
}

/** Responds to OPTIONS; `allow` lists the methods that the path allows. */
export function sendAllow(response: ServerResponse, allow: string): void {
  response.setHeader('Allow', allow);
  send(response, 204, null);
}

/** Returns true for GET and HEAD of a read-only path. Responds to OPTIONS itself; throws 405 for any other method. */
export function isReading(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.method === 'GET' || request.method === 'HEAD') return true;
  const allow = 'GET, HEAD, OPTIONS';
  if (request.method !== 'OPTIONS') throw methodRefusal(request.method!, allow);
  sendAllow(response, allow);
  return false;
}

/** Returns the path of a request's URL, without its query. */
export function pathOf(request: IncomingMessage): string {
  return request.url!.split('?', 1)[0]!;
}

/** Sends error envelopes for requests without a route and for requests refused before their handler. Must come last. */
export function sendErrorEnvelopes(app: Express, log: Logger): void {
  app.use((_request: Request, response: Response) => {
    refuseUnhandled(response, new ApiError('not_found', 'No operation exists at this path'), log);
  });
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    refuseUnhandled(response, fromExpress(error), log);
  });
}

/** Refuses a request that reaches no handler, and records its duration without a route. */
export function refuseUnhandled(response: Response, error: unknown, log: Logger): void {
  const status = sendError(response, error, log);
  const ms = performance.now() - Number(response.locals.beganMs);
  const method = httpMethod(response.req.method);
  requestDuration.record(ms / 1_000, { 'http.request.method': method, 'http.response.status_code': status });
  if (log.isLevelEnabled('debug')) log.debug({ status, ms }, 'request');
}

/** Sends a JSON string, or no body if it is null. */
export function send(response: ServerResponse, status: number, body: string | null): void {
  response.statusCode = status;
  if (body === null) {
    response.end();
    return;
  }
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
}

/** Delay after which readers of a closed event stream reconnect, spread so that they do not come all at once. */
const retryMs = { shortest: 500, longest: 3_000 };

/** Returns the stream's line that makes its reader reconnect after a random delay. */
export function retrySoon(): string {
  return `retry: ${Math.round(retryMs.shortest + Math.random() * (retryMs.longest - retryMs.shortest))}\n\n`;
}

/** Sends a refusal's envelope, with its code as a header. Cuts a response that has begun, so that the client knows it is incomplete. */
export function sendRefusal(response: ServerResponse, refusal: ApiError): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  for (const name in refusal.headers) response.setHeader(name, refusal.headers[name]!);
  response.setHeader('Error-Code', refusal.code);
  send(response, refusal.status, JSON.stringify(refusal.toBody()));
}

/**
 * Sends an error's envelope and returns its status. An error other than ApiError is a 500, logged with its cause, which the client does not get.
 * If the client disconnected, sends nothing and returns 499.
 */
export function sendError(response: ServerResponse, error: unknown, log: Logger): number {
  if (error instanceof ClientGone) return clientGone;
  const refusal = toApiError(error, log);
  sendRefusal(response, refusal);
  return refusal.status;
}

/** Returns the refusal for an internal failure, whose details are in the log. */
export function internalError(): ApiError {
  const message = 'Something went wrong on our side; the Request-Id identifies this failure in our logs';
  return new ApiError('internal_error', message);
}

function toApiError(error: unknown, log: Logger): ApiError {
  if (error instanceof ApiError) {
    if (error.status >= 500) log.warn({ err: error }, 'a request was refused for now');
    return error;
  }
  if (isDatabaseUnavailable(error)) {
    log.warn({ err: error }, 'the database is unavailable');
    return serviceUnavailable('The service cannot reach its database; try again shortly', error);
  }
  if (isTemporaryFailure(error)) {
    log.warn({ err: error }, 'a query timed out or conflicted with another one');
    return serviceUnavailable('The request took too long or conflicted with another one; try again shortly', error);
  }
  log.error({ err: error }, 'a request failed');
  return internalError();
}

function fromExpress(error: unknown): unknown {
  const { status, type, limit = 0 } = error as { status?: number; type?: string; limit?: number };
  if (error instanceof URIError) return new ApiError('not_found', 'No operation exists at this path');
  if (type === 'entity.too.large') {
    limitReached('body_size');
    return new ApiError('invalid_request', `body must be at most ${limit / 1_048_576} MiB`, {
      status: 413,
      field: 'body',
    });
  }
  if (status === 400 || status === 415) {
    return new ApiError('invalid_request', 'body must be complete and sent without Content-Encoding', {
      field: 'body',
    });
  }
  return error;
}

/** Responds to a routed request in a span of its own, with the request id in the log. `respond` returns the status. */
export function inServerSpan(
  request: Request,
  { route, attributes = {}, isUntraced = false }: { route: string; attributes?: Attributes; isUntraced?: boolean },
  respond: () => Promise<number>,
): Promise<number> {
  const requestId = request.header('request-id') ?? '';
  const method = httpMethod(request.method);
  const common = { 'http.request.method': method, 'http.route': route, 'platform.request_id': requestId };
  const parent = traceOfRequest(request.headers);
  const options = { kind: SpanKind.SERVER, attributes: { ...common, ...attributes }, parent };
  const traced = () =>
    inSpan(`${method} ${route}`, options, async (span) => {
      const status = await respond();
      setHttpStatus(span, status);
      return status;
    });
  return withWorkContext(requestId ? { requestId } : {}, isUntraced ? respond : traced);
}
