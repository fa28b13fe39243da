import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation } from '@customer-platform/contracts/core';
import {
  type Attributes,
  activeRequests,
  httpMethod,
  inSpan,
  markFailed,
  metricsEnabled,
  requestDuration,
  SpanKind,
  setHttpStatus,
  telemetryEnabled,
  traceOfRequest,
} from '@customer-platform/service-kit';
import { type LogRequest, statusOf } from '../request-log.ts';

/** Longest path in a span. */
const maxPathLength = 500;
/** Route of hook calls: their token is a secret, which no span, log or metric has. */
const hookRoute = '/hooks/messages/{token}';

/** A request of the public listener; the steps that serve it add what they find out. */
export interface PublicCall {
  readonly requestId: string;
  /** The client waits for 100 Continue before it sends the body. */
  readonly continues: boolean;
  operation?: Operation;
  accountId?: string;
  isHook?: true;
}

/**
 * Serves a request, and says how that went when its response has ended: one log line, one value of the duration, and a span that
 * continues the caller's trace, each where it is on.
 */
export function observeRequest(
  request: IncomingMessage,
  response: ServerResponse,
  call: PublicCall,
  { log, serve }: { log: LogRequest | undefined; serve: () => Promise<void> },
): void {
  const { method, url } = request;
  let traceId: string | undefined;
  log?.(request, response, () => ({ account: call.accountId, operation: operationOf(call), trace_id: traceId }));
  if (metricsEnabled()) {
    const beganMs = performance.now();
    const ofMethod = { 'http.request.method': httpMethod(method!) };
    activeRequests.add(1, ofMethod);
    response.once('close', () => {
      activeRequests.add(-1, ofMethod);
      requestDuration.record((performance.now() - beganMs) / 1_000, routeAttributes(method!, call, statusOf(response)));
    });
  }
  if (!telemetryEnabled()) {
    void serve();
    return;
  }
  const attributes = { 'http.request.method': httpMethod(method!), 'platform.request_id': call.requestId };
  const options = { kind: SpanKind.SERVER, attributes, parent: traceOfRequest(request.headers) };
  void inSpan(httpMethod(method!), options, async (span) => {
    traceId = span?.spanContext().traceId;
    const closed = once(response, 'close');
    await serve();
    await closed;
    const route = routeOf(call);
    if (route) span?.updateName(`${httpMethod(method!)} ${route}`);
    span?.setAttributes({ ...callAttributes(call), ...(call.isHook ? {} : { 'url.path': pathOf(url!) }) });
    if (response.writableFinished) setHttpStatus(span, response.statusCode);
    else if (span) markFailed(span, 'client_gone');
  });
}

function routeOf({ isHook, operation }: PublicCall): string | undefined {
  return isHook ? hookRoute : operation?.path;
}

function operationOf({ isHook, operation }: PublicCall): string | undefined {
  return isHook ? 'hook' : operation?.key;
}

/** Unknown paths have no route: whoever tries many must not make as many series. */
function routeAttributes(method: string, call: PublicCall, status: number): Attributes {
  const route = routeOf(call);
  return {
    'http.request.method': httpMethod(method),
    'http.response.status_code': status,
    ...(route ? { 'http.route': route } : {}),
  };
}

function callAttributes(call: PublicCall): Attributes {
  const route = routeOf(call);
  const operation = operationOf(call);
  return {
    ...(route ? { 'http.route': route } : {}),
    ...(operation ? { 'platform.operation': operation } : {}),
    ...(call.accountId ? { 'platform.account': call.accountId } : {}),
  };
}

function pathOf(url: string): string {
  return url.split('?', 1)[0]!.slice(0, maxPathLength);
}
