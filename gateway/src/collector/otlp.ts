/** Spans of one resource and scope, as they came. */
export interface SpanGroup {
  /** OTLP/JSON of the resource and of the scope. */
  resource: string;
  scope: string;
  service: string | undefined;
  spans: ReceivedSpan[];
}

/** A span of an export. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  /** OTLP/JSON of it. */
  text: string;
  kind: number;
  isError: boolean;
  /** Times since 1970 in milliseconds, with fractions. */
  startMs: number;
  endMs: number;
  requestId: string | undefined;
  account: string | undefined;
  operation: string | undefined;
}

/** A body that is no export of spans in OTLP/JSON. */
export class MalformedExport extends Error {}

const traceId = /^[0-9a-f]{32}$/i;
const spanId = /^[0-9a-f]{16}$/i;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const errorStatus = new Set<unknown>([2, 'STATUS_CODE_ERROR']);
/** Longest value of an attribute that traces are found by. */
const maxValueLength = 200;

/** The last instant that a Date can have. */
const maxTimeMs = 8.64e15;

type Json = Readonly<Record<string, unknown>>;

/** Reads an export of spans (ExportTraceServiceRequest in OTLP/JSON). Throws MalformedExport. */
export function readExport(text: string): SpanGroup[] {
  try {
    return listIn(objectOf(JSON.parse(text)), 'resourceSpans').flatMap((part) => groupsOf(objectOf(part)));
  } catch (error) {
    // What is nested too deep for its text to be written again is as wrong.
    if (error instanceof SyntaxError || error instanceof RangeError) throw new MalformedExport('body must be JSON');
    throw error;
  }
}

function groupsOf(part: Json): SpanGroup[] {
  const resource = objectOf(part.resource ?? {});
  const service = attributeOf(resource, 'service.name');
  const text = JSON.stringify(resource);
  return listIn(part, 'scopeSpans').map((each) => {
    const ofScope = objectOf(each);
    const spans = listIn(ofScope, 'spans').map((span) => readSpan(objectOf(span)));
    return { resource: text, scope: JSON.stringify(objectOf(ofScope.scope ?? {})), service, spans };
  });
}

function readSpan(span: Json): ReceivedSpan {
  const status = objectOf(span.status ?? {});
  const startMs = milliseconds(span.startTimeUnixNano);
  const account = attributeOf(span, 'platform.account') ?? '';
  return {
    traceId: idOf(span.traceId, traceId, 'traceId'),
    spanId: idOf(span.spanId, spanId, 'spanId'),
    text: JSON.stringify(span),
    kind: Number(span.kind),
    isError: errorStatus.has(status.code),
    startMs,
    endMs: Math.max(startMs, milliseconds(span.endTimeUnixNano)),
    requestId: attributeOf(span, 'platform.request_id'),
    account: uuid.test(account) ? account.toLowerCase() : undefined,
    operation: attributeOf(span, 'platform.operation'),
  };
}

function idOf(value: unknown, pattern: RegExp, name: string): string {
  if (typeof value !== 'string' || !pattern.test(value)) throw new MalformedExport(`${name} must be hexadecimal`);
  return value.toLowerCase();
}

/** Returns nanoseconds in milliseconds. As a number, which JSON may have too, they are exact to a microsecond. */
function milliseconds(value: unknown): number {
  const text = typeof value === 'number' ? String(Math.max(0, value)) : value;
  if (typeof text !== 'string' || !/^\d{1,20}$/.test(text)) {
    throw new MalformedExport('a span must have startTimeUnixNano and endTimeUnixNano');
  }
  const ms = Number(text.slice(0, -6)) + Number(text.slice(-6)) / 1e6;
  return Math.min(ms, maxTimeMs);
}

/** Returns the text of an attribute; undefined where there is none of 1 to 200 characters. */
function attributeOf(holder: Json, key: string): string | undefined {
  for (const each of listIn(holder, 'attributes')) {
    const attribute = objectOf(each);
    if (attribute.key !== key) continue;
    const { stringValue } = objectOf(attribute.value ?? {});
    const isValue = typeof stringValue === 'string' && stringValue !== '' && stringValue.length <= maxValueLength;
    return isValue ? stringValue : undefined;
  }
  return undefined;
}

function listIn(holder: Json, name: string): unknown[] {
  const list = holder[name] ?? [];
  if (!Array.isArray(list)) throw new MalformedExport(`${name} must be a list`);
  return list;
}

function objectOf(value: unknown): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new MalformedExport('body must be an export of spans in OTLP/JSON');
  }
  return value as Json;
}
