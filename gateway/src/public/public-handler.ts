import { randomUUIDv7 } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { getMe } from '@customer-platform/contracts/accounts';
import { ApiError, type RoutedOperation } from '@customer-platform/contracts/core';
import {
  ClientGone,
  type Logger,
  pathOf,
  sendAllow,
  serviceUnavailable,
  signContext,
} from '@customer-platform/service-kit';
import { type Body, type BodyIntake, defaultBodyLimit, hasBody, limitBody } from '../bodies/body-intake.ts';
import type { Upstreams } from '../forward/upstreams.ts';
import { type RequestHandler, refuse } from '../http/listener.ts';
import { observeRequest, type PublicCall } from '../http/observe-request.ts';
import { forwardedHeaders, networkOf, readRequestPath } from '../http/request-head.ts';
import { requestLog } from '../http/request-log.ts';
import type { KeyRecord } from '../keys/key-record.ts';
import type { RequestPlace, RequestShares } from '../limits/request-shares.ts';
import type { AnnouncedOperations } from '../routes/announced-operations.ts';
import type { openOwnOperations } from '../self-service/serve-own.ts';
import type { TrafficCounter } from '../traffic/traffic-counter.ts';
import { type AdmissionParts, type Admitted, admit, admitAgain, authorize, operationAt } from './admission.ts';
import type { InboundWebhooks } from './inbound-webhooks.ts';
import { sendMe } from './me.ts';
import type { StreamRoutes } from './stream-routes.ts';

/** Lifetime of a signed context, which is the longest time that a request may take to arrive. */
const contextLifetimeMs = 90_000;
/** Messaging paths that need a token instead of a key. The limit of 200 characters exceeds every real token and bounds the token cache. */
const hookKinds = [
  { prefix: '/hooks/', route: '/hooks/messages/{token}', operation: 'hook', form: /^\/hooks\/messages\/[^/?]{1,200}$/ },
  { prefix: '/u/', route: '/u/{token}', operation: 'unsubscribe', form: /^\/u\/[^/?]{1,200}$/ },
] as const;

/** Dependencies of the public listener. */
export interface PublicParts extends AdmissionParts {
  log: Logger;
  routes: Pick<AnnouncedOperations, 'find'>;
  upstreams: Upstreams;
  shares: RequestShares;
  bodies: BodyIntake;
  streams: Pick<StreamRoutes, 'pass'>;
  traffic: TrafficCounter;
  /** Undefined without an address of messaging. */
  hooks: InboundWebhooks | undefined;
  addressOf(request: IncomingMessage): string;
  /** Serve health and documentation without a key; return whether the path was one of theirs. */
  serveHealth(request: IncomingMessage, response: ServerResponse): boolean;
  serveDocs(request: IncomingMessage, response: ServerResponse): boolean;
  serveOwn: ReturnType<typeof openOwnOperations>['serve'];
}

/** Returns the handler of every public request. It never throws. Each response has its own Request-Id. */
export function publicHandler(parts: PublicParts): RequestHandler {
  const log = requestLog(parts.log)?.request;
  const { traffic } = parts;
  return (request, response, continues) => {
    const requestId = randomUUIDv7();
    response.setHeader('Request-Id', requestId);
    const call: PublicCall = { requestId, continues };
    const path = pathOf(request);
    // Health checks arrive every few seconds and are not worth a log line.
    if (path === '/healthz' || path === '/readyz') void serve(parts, request, response, call);
    else observeRequest(request, response, call, { log, traffic, serve: () => serve(parts, request, response, call) });
  };
}

/** Serves one request, and records in `call` what it learns. */
async function serve(
  parts: PublicParts,
  request: IncomingMessage,
  response: ServerResponse,
  call: PublicCall,
): Promise<void> {
  const { requestId, continues } = call;
  try {
    if (parts.serveHealth(request, response)) return;
    const address = parts.addressOf(request);
    call.address = address;
    const place = parts.shares.take(networkOf(address), response);
    if (parts.serveDocs(request, response)) return;
    const hook = hookKinds.find(({ prefix }) => request.url!.startsWith(prefix));
    if (hook) {
      call.hook = hook;
      await forwardHook(parts, request, response, { ...call, address, place });
      return;
    }
    const path = readRequestPath(request.url!);
    const route = path && parts.routes.find(path.segments);
    const found = route?.byMethod.get(request.method === 'HEAD' ? 'GET' : request.method!);
    if (found) call.operation = found;
    const record = await admit(parts, request, response, address, (known) => {
      call.key = known;
    });
    place.moveTo(record.ownerId);
    if (route && request.method === 'OPTIONS') {
      sendAllow(response, route.allow);
      return;
    }
    const operation = operationAt(route, request.method!);
    authorize(record, operation);
    const admitted = { record, operation, address };
    if (operation.key === getMe.key) sendMe(request, response, record);
    else if (operation.service === 'gateway') {
      const whole = await receiveBody(parts, request, response, { ...admitted, continues });
      request.url = path!.target;
      await parts.serveOwn(request, response, { ...whole, operation, requestId });
    } else {
      const { service } = operation;
      const upstream = parts.upstreams.services.get(service);
      if (!upstream) throw serviceUnavailable(`${service} is not running here; try again later`);
      const { target } = path!;
      const prepare = ({ signer }: KeyRecord) => {
        const scope = { service, method: request.method!, target };
        const context = signContext(signer, scope, Date.now() + contextLifetimeMs);
        request.url = target;
        request.headers = forwardedHeaders(request.headers, { context, requestId, trace: call.trace });
      };
      if (operation.streams) {
        limitBody(request, bodyLimitOf(operation));
        await parts.streams.pass({ request, response, ...admitted, upstream, prepare: () => prepare(record) });
        return;
      }
      const whole = await receiveBody(parts, request, response, { ...admitted, continues });
      prepare(whole.record);
      upstream.forward(request, response, record.ownerId, whole.body);
    }
  } catch (error) {
    if (error instanceof ClientGone) return;
    // The body that the client holds back will not arrive, so the connection cannot be reused.
    if (continues && !response.headersSent) response.setHeader('Connection', 'close');
    refuse(response, error, parts.log);
  }
}

/**
 * Receives the body of an admitted request. If the body arrives after the head, its key is checked again when the body
 * is complete. A client may take minutes to send a body, and its key may be revoked meanwhile.
 */
async function receiveBody(
  parts: PublicParts,
  request: IncomingMessage,
  response: ServerResponse,
  { continues, ...admitted }: Admitted & { continues: boolean },
): Promise<{ body: Body | undefined; record: KeyRecord }> {
  const { record, operation } = admitted;
  const limit = bodyLimitOf(operation);
  limitBody(request, limit);
  if (!hasBody(request)) return { body: undefined, record };
  const taken = parts.bodies.take(request, response, { kind: 'account', owner: record.ownerId, limit, continues });
  if (!(taken instanceof Promise)) return { body: taken, record };
  const body = await taken;
  return { body, record: await admitAgain(parts, request, admitted) };
}

const bodyLimitOf = ({ bodyLimit }: RoutedOperation): number => bodyLimit ?? defaultBodyLimit;

/** Forwards a webhook request. Providers and recipients have no key; the service verifies their requests. */
async function forwardHook(
  parts: PublicParts,
  request: IncomingMessage,
  response: ServerResponse,
  call: PublicCall & { address: string; place: RequestPlace },
): Promise<void> {
  const target = readRequestPath(request.url!)?.target ?? '';
  const path = target.split('?', 1)[0]!;
  if (!call.hook!.form.test(path) || !parts.hooks) throw new ApiError('not_found', 'No hook exists at this URL');
  await parts.hooks.pass({ ...call, request, response, path }, () => {
    const { requestId, trace } = call;
    request.url = target;
    request.headers = forwardedHeaders(request.headers, { context: undefined, requestId, trace });
  });
}
