import type { IncomingHttpHeaders } from 'node:http';
import express, { type Express, type Request, type Response } from 'express';
import type { Database } from '../database/database.ts';
import type { Connections } from '../fairness/connections.ts';
import { inWorkTransaction, type WorkCall, type WorkContext } from '../jobs/jobs.ts';
import type { Logger } from '../telemetry/logging.ts';
import { refuseOtherMethods, routePattern, sendError } from './responses.ts';
import { inServerSpan } from './server-span.ts';

/** A request that comes in without a key: who sent it is known by a signature, which the hook checks over `body`, byte for byte. */
export interface HookCall<Resources> {
  /** HEAD asks only whether somebody is called here: it must change nothing. */
  method: 'GET' | 'HEAD' | 'POST';
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** The real time: who is called is known by what the call has. */
  now: Date;
  /** Returns a real instant in the time of an account. */
  inTimeOf(accountId: string, real: Date): Date;
  log: Logger;
  sql: Database;
  resources: Resources;
  /**
   * Changes something of an account: one transaction with its events, on one of the connections that the account may have. Throws 429 or 503
   * where none is free in time.
   */
  change<Result>(accountId: string, work: (call: WorkCall<Resources>) => Promise<Result>): Promise<Result>;
}

/** Response to a hook; refusals are thrown as ApiError. */
interface HookResponse {
  status: 200 | 204;
  text?: string;
  /** The account that has the hook: what callers hold at the gateway counts as its own. */
  account?: string;
}

/** A path below /hooks/ that others call, with `{name}` parameters. */
export interface Hook<Resources = never> {
  path: string;
  handle(call: HookCall<Resources>): Promise<HookResponse>;
}

/** The header in which a service names the account of a hook to the gateway. */
export const hookAccountHeader = 'hook-account';

const bodyLimit = 1_048_576;

/** Serves hooks on an Express app: GET, HEAD and POST, bodies up to 1 MiB of any type. Spans name no path itself: it has the token of its hook. */
export function bindHooks<Resources>(
  app: Express,
  hooks: readonly Hook<Resources>[],
  context: WorkContext<Resources>,
  connections: Connections,
): void {
  const readBody = express.raw({ type: () => true, limit: bodyLimit, inflate: false });
  for (const { path, handle } of hooks) {
    const serve = (request: Request, response: Response) =>
      inServerSpan(request, { route: path }, async () => {
        try {
          const { status, text, account } = await handle(callOf(request, context, connections));
          if (account !== undefined) response.setHeader(hookAccountHeader, account);
          response.status(status).type('text/plain').send(text);
          return status;
        } catch (error) {
          return sendError(response, error, context.log);
        }
      });
    const pattern = routePattern(path);
    const route = app.route(pattern);
    route.get(serve);
    route.post(readBody, serve);
    refuseOtherMethods(app, pattern, 'GET, HEAD, POST, OPTIONS');
  }
}

function callOf<Resources>(
  request: Request,
  context: WorkContext<Resources>,
  connections: Connections,
): HookCall<Resources> {
  const { log, sql, resources, clocks } = context;
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  return {
    method: request.method as HookCall<Resources>['method'],
    params: request.params as Record<string, string>,
    get query() {
      return new URL(request.url, 'http://service').searchParams;
    },
    headers: request.headers,
    body,
    now: clocks.real(),
    inTimeOf: (accountId, real) => clocks.inTimeOf(accountId, real),
    log,
    sql,
    resources,
    change: (accountId, work) => connections.use(accountId, request.res, () => inWorkTransaction(context, work)),
  };
}
