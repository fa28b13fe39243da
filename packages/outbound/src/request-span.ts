import { inSpan, markFailed, SpanKind, setHttpStatus, telemetryEnabled } from '@customer-platform/service-kit';

/**
 * Runs a request in a client span, if there is a trace to continue. A status of at least `failedFrom` and a failure without a response mark the span
 * as failed. The span has only the URL's scheme, host and port, because paths and queries of customers' URLs contain tokens.
 */
export async function inRequestSpan<Result extends { status?: number; error?: string | undefined }>(
  method: 'GET' | 'POST',
  url: URL | null,
  failedFrom: number,
  send: () => Promise<Result>,
): Promise<Result> {
  if (!url || !telemetryEnabled()) return await send();
  const attributes = {
    'http.request.method': method,
    'server.address': url.hostname,
    'server.port': Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
    'url.scheme': url.protocol.slice(0, -1),
  };
  return await inSpan(method, { kind: SpanKind.CLIENT, attributes, continuesOnly: true }, async (span) => {
    const result = await send();
    if (span && result.status !== undefined) setHttpStatus(span, result.status, failedFrom);
    if (span && result.error !== undefined) markFailed(span, result.error);
    return result;
  });
}
