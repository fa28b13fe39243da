import type { Attributes } from '@opentelemetry/api';
import type { Request } from 'express';
import { withWorkContext } from '../telemetry/logging.ts';
import { httpMethod, inSpan, SpanKind, setHttpStatus, traceOfRequest } from '../telemetry/telemetry.ts';

/** Responds to a request of a route in a span of its own and with its id in the log; `respond` returns the status. */
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
