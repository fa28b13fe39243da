import { inSpan, markFailed, type Span, SpanKind, setHttpStatus } from '@customer-platform/service-kit';

/** The end of a request, as its span shows it. */
interface RequestEnd {
  status?: number;
  error?: string | undefined;
}

/**
 * Runs a request in a client span, if there is a trace to continue; a response from `failedFrom` on, and a failure without one, is an error.
 * Of the URL the span has only where it leads: paths and queries of customers' URLs contain tokens.
 */
export async function inRequestSpan<Result extends RequestEnd>(
  method: 'GET' | 'POST',
  url: URL,
  failedFrom: number,
  send: () => Promise<Result>,
): Promise<Result> {
  const attributes = {
    'http.request.method': method,
    'server.address': url.hostname,
    'server.port': Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
    'url.scheme': url.protocol.slice(0, -1),
  };
  return await inSpan(method, { kind: SpanKind.CLIENT, attributes, continuesOnly: true }, async (span) => {
    const result = await send();
    endRequest(span, result, failedFrom);
    return result;
  });
}

function endRequest(span: Span | undefined, { status, error }: RequestEnd, failedFrom: number): void {
  if (!span) return;
  if (status !== undefined) setHttpStatus(span, status, failedFrom);
  if (error !== undefined) markFailed(span, error);
}
