import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation } from '@customer-platform/contracts/core';
import { inSpan, meter, SpanKind } from '@customer-platform/service-kit';

const duration = meter.createHistogram('gateway.request.duration', {
  unit: 's',
  description: 'Time from a request to the end of its response, by operation and status.',
});

/**
 * Serves a request in a span of its own, which continues the caller's trace if there is one and ends with the response.
 * Called only while telemetry is on.
 */
export async function traceRequest(
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  serve: () => Promise<Operation | undefined>,
): Promise<void> {
  const began = performance.now();
  const { traceparent, tracestate } = request.headers as Record<string, string | undefined>;
  const parent = traceparent ? { traceparent, ...(tracestate ? { tracestate } : {}) } : undefined;
  const attributes = { 'platform.request_id': requestId };
  await inSpan(request.method!, { kind: SpanKind.SERVER, attributes, parent }, async (span) => {
    const closed = once(response, 'close');
    const operation = await serve();
    await closed;
    const status = response.statusCode;
    const key = operation?.key ?? 'none';
    duration.record((performance.now() - began) / 1_000, { operation: key, status });
    if (operation) span?.updateName(`${operation.method} ${operation.path}`);
    span?.setAttributes({ 'platform.operation': key, 'http.response.status_code': status });
  });
}
