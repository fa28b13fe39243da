import { ApiError, maxIntegerId, type Page, uuid } from '@customer-platform/contracts/core';
import type { Express, NextFunction, Request, Response } from 'express';
import { isDatabaseAway, isTemporaryFailure, serviceUnavailable } from './database.ts';
import type { Logger } from './logging.ts';

/** A path template of the contracts as Express has it: `{name}` is `:name`. */
export function routePattern(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

/** OPTIONS answers which methods a path has; any other one is none of them. */
export function refuseOtherMethods(app: Express, path: string, allow: string): void {
  app.all(path, (request: Request, response: Response) => {
    response.setHeader('Allow', allow);
    if (request.method === 'OPTIONS') {
      send(response, 204, null);
      return;
    }
    const message = `${request.method} is not allowed at this path; use a method listed in Allow`;
    throw new ApiError('invalid_request', message, { status: 405 });
  });
}

/** Answers what no route took, and errors of Express itself, as envelopes. Goes last. */
export function endWithEnvelopes(app: Express, log: Logger): void {
  app.use((_request: Request, response: Response) => {
    sendError(response, new ApiError('not_found', 'No operation exists at this path'), log);
  });
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    sendError(response, fromExpress(error), log);
  });
}

/** Sends a JSON text, or no body where it is null. */
export function send(response: Response, status: number, body: string | null): void {
  response.statusCode = status;
  if (body === null) {
    response.end();
    return;
  }
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
}

/** Answers an error as its envelope; what is no ApiError is our fault: 500, logged once with its cause, nothing of it in the answer. */
export function sendError(response: Response, error: unknown, log: Logger): number {
  const refusal = toApiError(error, log);
  if (response.headersSent) {
    response.destroy();
    return refusal.status;
  }
  for (const [name, value] of Object.entries(refusal.headers)) response.setHeader(name, value);
  send(response, refusal.status, JSON.stringify(refusal.toBody()));
  return refusal.status;
}

function toApiError(error: unknown, log: Logger): ApiError {
  if (error instanceof ApiError) {
    if (error.status >= 500) log.warn({ err: error }, 'a request was refused for now');
    return error;
  }
  if (isDatabaseAway(error)) {
    log.warn({ err: error }, 'the database is away');
    return serviceUnavailable('The service cannot reach its database; try again shortly', error);
  }
  if (isTemporaryFailure(error)) {
    log.warn({ err: error }, 'a statement was given up');
    return serviceUnavailable('The request took too long or conflicted with another one; try again shortly', error);
  }
  log.error({ err: error }, 'a request failed');
  return new ApiError(
    'internal_error',
    'Something went wrong on our side; the Request-Id identifies this failure in our logs',
  );
}

function fromExpress(error: unknown): unknown {
  const { status, type } = error as { status?: number; type?: string };
  if (error instanceof URIError) return new ApiError('not_found', 'No operation exists at this path');
  if (type === 'entity.too.large') {
    return new ApiError('invalid_request', 'body must be at most 1 MiB', { status: 413, field: 'body' });
  }
  if (status === 400 || status === 415) {
    return new ApiError('invalid_request', 'body must be complete and sent without Content-Encoding', {
      field: 'body',
    });
  }
  return error;
}

/** A page from rows read with `limit + 1`: the row too many says that there is more. `idOf` names the cursor. */
export function toPage<Row, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
  idOf: (row: Row) => string | number,
): Page<Item> {
  const shown = rows.slice(0, limit);
  const hasMore = rows.length > limit;
  return { data: shown.map(toItem), has_more: hasMore, next: hasMore ? String(idOf(shown.at(-1)!)) : null };
}

/** The refusal of a `starting_after` that is no id of this list. */
export function badCursor(): ApiError {
  return new ApiError('invalid_request', 'starting_after must be the next value of a previous page of this list', {
    field: 'starting_after',
  });
}

/** The UUID that a list's `starting_after` is. Throws the refusal of a bad cursor where it is none. */
export function uuidCursor(cursor: string): string {
  const parsed = uuid.safeParse(cursor);
  if (!parsed.success) throw badCursor();
  return parsed.data;
}

/** The integer id that a list's `starting_after` is. Throws the refusal of a bad cursor where it is none. */
export function integerCursor(cursor: string): number {
  const id = /^[1-9]\d{0,9}$/.test(cursor) ? Number(cursor) : Number.NaN;
  if (!(id <= maxIntegerId)) throw badCursor();
  return id;
}
