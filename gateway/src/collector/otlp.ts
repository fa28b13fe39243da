/** Spans of one resource and scope, as they came. */
export interface SpanGroup {
  /** OTLP/JSON of the resource and of the scope. */
  resource: string;
  scope: string;
  /** Memory that both take. */
  bytes: number;
  service: string | undefined;
  spans: ReceivedSpan[];
}

/** A span of an export. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  /** OTLP/JSON of it. */
  text: string;
  /** Memory that the text takes. */
  bytes: number;
  isServer: boolean;
  isError: boolean;
  /** Times since 1970 in milliseconds, with fractions. */
  startMs: number;
  endMs: number;
  requestId: string | undefined;
  account: string | undefined;
  operation: string | undefined;
}

/** An export as it was read. */
export interface ReadExport {
  groups: SpanGroup[];
  /** Spans that were not read: those after the first 4,096, and those that are too large. */
  rejected: number;
}

/** Ids that are all zero are those of no trace and no span. */
const traceId = /^(?!0+$)[0-9a-f]{32}$/i;
const spanId = /^(?!0+$)[0-9a-f]{16}$/i;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const serverKind = new Set<unknown>([2, 'SPAN_KIND_SERVER']);
const errorStatus = new Set<unknown>([2, 'STATUS_CODE_ERROR']);
/** Longest value of an attribute that traces are found by. */
const maxValueLength = 200;

/** The last instant that a Date can have. */
const maxTimeMs = 8.64e15;

type Json = Readonly<Record<string, unknown>>;

/** Most bytes of an export, also once unpacked. */
export const maxExportBytes = 4 * 1_048_576;
/** Spans of an export that are read: eight times as many as our own exporters send (OTEL_BSP_MAX_EXPORT_BATCH_SIZE, 512 by default). */
const maxSpans = 4_096;
/** Largest span, and largest resource or scope, in characters of JSON. */
const maxSpanLength = 65_536;
/** Deepest nesting of these: what is deeper can be read here and not where it is shown. */
const maxLevels = 64;

/** A body that is no export of spans in OTLP/JSON. */
export class MalformedExport extends Error {}

/** Reads an export of spans (ExportTraceServiceRequest in OTLP/JSON). Throws MalformedExport. */
export function readExport(text: string): ReadExport {
  const groups = listIn(objectOf(parse(text)), 'resourceSpans').flatMap((part) => groupsOf(objectOf(part)));
  let taken = 0;
  let rejected = 0;
  for (const { given, group } of groups) {
    for (const each of given) {
      const span = readSpan(objectOf(each));
      if (taken === maxSpans || span.text.length > maxSpanLength) rejected++;
      else {
        group.spans.push(span);
        taken++;
      }
    }
  }
  return { groups: groups.map(({ group }) => group), rejected };
}

/** Returns the groups of a resource, still without spans, with these as they came. */
function groupsOf(part: Json): { group: SpanGroup; given: unknown[] }[] {
  const resource = objectOf(part.resource ?? {});
  const service = attributeOf(resource, 'service.name');
  const text = shortText(resource);
  const bytes = memoryOf(text);
  return listIn(part, 'scopeSpans').map((each) => {
    const ofScope = objectOf(each);
    const scope = shortText(objectOf(ofScope.scope ?? {}));
    return {
      group: { resource: text, scope, bytes: bytes + memoryOf(scope), service, spans: [] },
      given: listIn(ofScope, 'spans'),
    };
  });
}

/** Returns the JSON of a resource or scope. Throws where it is as large as no span may be. */
function shortText(value: Json): string {
  const text = textOf(value);
  if (text.length > maxSpanLength)
    throw new MalformedExport(`a resource or scope must have at most ${maxSpanLength} characters`);
  return text;
}

function textOf(value: Json): string {
  if (isDeeper(value, maxLevels))
    throw new MalformedExport(`a span, resource or scope must have at most ${maxLevels} levels`);
  return JSON.stringify(value);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new MalformedExport('body must be JSON');
  }
}

function readSpan(span: Json): ReceivedSpan {
  const text = textOf(span);
  const status = objectOf(span.status ?? {});
  const startMs = milliseconds(span.startTimeUnixNano);
  const account = attributeOf(span, 'platform.account') ?? '';
  return {
    traceId: idOf(span.traceId, traceId, 'traceId'),
    spanId: idOf(span.spanId, spanId, 'spanId'),
    text,
    bytes: memoryOf(text),
    isServer: serverKind.has(span.kind),
    isError: errorStatus.has(status.code),
    startMs,
    endMs: Math.max(startMs, milliseconds(span.endTimeUnixNano)),
    requestId: attributeOf(span, 'platform.request_id'),
    account: uuid.test(account) ? account.toLowerCase() : undefined,
    operation: attributeOf(span, 'platform.operation'),
  };
}

function idOf(value: unknown, pattern: RegExp, name: string): string {
  if (typeof value !== 'string' || !pattern.test(value))
    throw new MalformedExport(`${name} must be hexadecimal and not all zero`);
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
    throw notOtlp();
  }
  return value as Json;
}

function notOtlp(): MalformedExport {
  return new MalformedExport('body must be an export of spans in OTLP/JSON');
}

/** Returns the bytes that a text takes in memory: V8 has two for each unit where one of them is not Latin-1. */
function memoryOf(text: string): number {
  return text.length * (isLatin1(text) ? 1 : 2);
}

function isLatin1(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: every character of Latin-1, whatever it is
  return /^[\u0000-\u00ff]*$/.test(text);
}
