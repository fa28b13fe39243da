import { z } from 'zod';

/** Spans of one resource and scope. */
export interface SpanGroup {
  /** The resource and the scope, each as OTLP/JSON. */
  resource: string;
  scope: string;
  service: string | undefined;
  spans: ReceivedSpan[];
}

/** A span of an export. */
export type ReceivedSpan = ReturnType<typeof toSpan>;

/** Maximum bytes of an export, compressed and decompressed. */
export const maxExportBytes = 4 * 1_048_576;

/** The latest time that a Date can represent. */
const maxTimeMs = 8.64e15;

/** An id in hexadecimal. An id of all zeros is invalid in OTLP. */
const hexId = (digits: number) =>
  z
    .string()
    .length(digits)
    .regex(/^(?!0+$)[0-9a-f]+$/i, `must be ${digits} hexadecimal digits, not all zero`)
    .toLowerCase();

/** Nanoseconds since 1970, as a string or a number, converted to milliseconds. */
const Nanoseconds = z.coerce
  .string()
  .regex(/^\d{1,20}$/, 'must be nanoseconds since 1970')
  .transform((text) => Math.min(Number(text.slice(0, -6)) + Number(text.slice(-6)) / 1e6, maxTimeMs));

const AttributeValue = z.object({ stringValue: z.string(), intValue: z.coerce.string() }).partial();

/** The string and integer attributes, as strings by key. */
const Attributes = z
  .array(z.object({ key: z.string(), value: AttributeValue.optional() }))
  .default([])
  .transform((list) => new Map(list.map(({ key, value }) => [key, value?.stringValue ?? value?.intValue])));

const Json = z.record(z.string(), z.unknown());

const Export = z.object({
  resourceSpans: z
    .array(
      z.object({
        resource: Json.default({}),
        scopeSpans: z.array(z.object({ scope: Json.default({}), spans: z.array(Json).default([]) })).default([]),
      }),
    )
    .default([]),
});

const Span = z.object({
  traceId: hexId(32),
  spanId: hexId(16),
  kind: z.unknown().optional(),
  status: z.object({ code: z.unknown().optional() }).optional(),
  startTimeUnixNano: Nanoseconds,
  endTimeUnixNano: Nanoseconds,
  attributes: Attributes,
});

/** Reads an export of spans (ExportTraceServiceRequest in OTLP/JSON). Throws a SyntaxError or a ZodError if it is invalid. */
export function readExport(text: string): SpanGroup[] {
  const { resourceSpans } = Export.parse(JSON.parse(text));
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = Attributes.parse(resource.attributes).get('service.name');
    const resourceText = JSON.stringify(resource);
    return scopeSpans.map(({ scope, spans }) => ({
      resource: resourceText,
      scope: JSON.stringify(scope),
      service,
      spans: spans.map(toSpan),
    }));
  });
}

function toSpan(given: Record<string, unknown>) {
  const { traceId, spanId, kind, status, startTimeUnixNano, endTimeUnixNano, attributes } = Span.parse(given);
  return {
    traceId,
    spanId,
    /** OTLP/JSON of the span as received. */
    text: JSON.stringify(given),
    isServer: kind === 2 || kind === 'SPAN_KIND_SERVER',
    isError: status?.code === 2 || status?.code === 'STATUS_CODE_ERROR',
    startMs: startTimeUnixNano,
    endMs: Math.max(startTimeUnixNano, endTimeUnixNano),
    requestId: attributes.get('platform.request_id'),
    account: attributes.get('platform.account'),
    operation: attributes.get('platform.operation'),
    statusCode: Number(attributes.get('http.response.status_code')) || undefined,
    errorCode: attributes.get('platform.error_code'),
    method: attributes.get('http.request.method'),
    path: attributes.get('url.path'),
  };
}
