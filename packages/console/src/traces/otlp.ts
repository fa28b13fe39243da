/** A span of a trace, ready to be drawn. Times are in milliseconds; `start` counts from the trace's start. */
export interface Span {
  id: string;
  parent: string | null;
  service: string;
  name: string;
  kind: string;
  start: number;
  duration: number;
  isError: boolean;
  error: string | null;
  attributes: [name: string, value: string][];
  /** Number of ancestors. */
  depth: number;
}

/** Spans in the order of a waterfall: parents before their children, siblings by start. */
export interface Waterfall {
  spans: Span[];
  duration: number;
  services: string[];
  startedAt: number;
}

/** A waterfall shows at most this many spans. */
export const maxSpans = 2_000;

type Json = Record<string, unknown>;

const kinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];

/** Returns the spans of an OTLP/JSON trace. Omits missing or malformed parts. */
export function waterfallOf(trace: { resourceSpans: Json[] }): Waterfall {
  const raw = trace.resourceSpans.flatMap((resource) => {
    const service = attributesOf((resource.resource as Json | undefined)?.attributes).get('service.name') ?? 'unknown';
    return listOf(resource.scopeSpans).flatMap((scope) => listOf(scope.spans).map((span) => ({ service, span })));
  });
  const nanos = raw.map(({ span }) => nanosOf(span.startTimeUnixNano));
  const begin = nanos.reduce((least, each) => (each < least ? each : least), nanos[0] ?? 0n);
  const spans = raw.map(({ service, span }, index) => spanOf(service, span, nanos[index]! - begin));
  const ordered = inOrder(spans);
  return {
    spans: ordered.slice(0, maxSpans),
    duration: spans.reduce((most, { start, duration }) => Math.max(most, start + duration), 0),
    services: [...new Set(ordered.map(({ service }) => service))],
    startedAt: Number(begin / 1_000_000n),
  };
}

function spanOf(service: string, span: Json, sinceStart: bigint): Span {
  const end = nanosOf(span.endTimeUnixNano);
  const start = nanosOf(span.startTimeUnixNano);
  const status = (span.status ?? {}) as Json;
  const isError = status.code === 2 || status.code === 'STATUS_CODE_ERROR';
  const attributes = attributesOf(span.attributes);
  const error = isError ? errorOf(span, status, attributes) : '';
  const kind = typeof span.kind === 'number' ? (kinds[span.kind] ?? '') : String(span.kind ?? '');
  return {
    id: String(span.spanId),
    parent: typeof span.parentSpanId === 'string' && span.parentSpanId !== '' ? span.parentSpanId : null,
    service,
    name: String(span.name),
    kind: kind.replace('SPAN_KIND_', '').toLowerCase(),
    start: Number(sinceStart) / 1e6,
    duration: end > start ? Number(end - start) / 1e6 : 0,
    isError,
    error: error === '' ? null : error,
    attributes: [...attributes],
    depth: 0,
  };
}

/** Returns the message of a span's last exception or status, or else its HTTP status. Without any, returns an empty string. */
function errorOf(span: Json, { message }: Json, attributes: Map<string, string>): string {
  const exception = listOf(span.events).findLast(({ name }) => name === 'exception');
  const text = attributesOf(exception?.attributes).get('exception.message') || message;
  if (typeof text === 'string' && text !== '') return text;
  const code = attributes.get('http.response.status_code');
  return code === undefined ? '' : `HTTP ${code}`;
}

/** Sorts spans depth-first, without recursion since a trace may be very deep. A span whose parent is missing is a root. */
function inOrder(spans: Span[]): Span[] {
  const ids = new Set(spans.map(({ id }) => id));
  const latestFirst = spans.toSorted((one, other) => other.start - one.start);
  const children = Map.groupBy(latestFirst, ({ id, parent }) =>
    parent !== null && parent !== id && ids.has(parent) ? parent : null,
  );
  const open = (children.get(null) ?? []).map((span) => ({ span, depth: 0 }));
  const ordered: Span[] = [];
  for (let next = open.pop(); next; next = open.pop()) {
    const { span, depth } = next;
    ordered.push({ ...span, depth });
    for (const child of children.get(span.id) ?? []) open.push({ span: child, depth: depth + 1 });
    children.delete(span.id);
  }
  return ordered;
}

function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}

function nanosOf(value: unknown): bigint {
  return typeof value === 'string' && /^\d+$/.test(value) ? BigInt(value) : BigInt(Math.trunc(Number(value ?? 0)) || 0);
}

function attributesOf(attributes: unknown): Map<string, string> {
  return new Map(listOf(attributes).map(({ key, value }) => [String(key), textOf(value)]));
}

function textOf(value: unknown): string {
  const [each] = Object.values((value ?? {}) as Json);
  return typeof each === 'object' ? JSON.stringify(each) : String(each);
}
