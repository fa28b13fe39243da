import type { ReceivedSpan, SpanGroup } from './otlp.ts';

/** Bounds of a trace store, in bytes as they are counted: texts, and about what holding them costs. */
export interface TraceBounds {
  bytes: number;
  /** Of one trace: what else belongs to it is dropped. */
  bytesPerTrace: number;
}

const usualBounds: TraceBounds = { bytes: 64 * 1_048_576, bytesPerTrace: 4 * 1_048_576 };
/** About what a trace, a part of it, a span's id and an indexed request cost besides their texts. */
const traceCost = 600;
const partCost = 200;
const spanCost = 100;
const requestCost = 200;
/** Requests of one trace that it is found by. */
const maxRequests = 100;

/** Spans of a trace that came together. */
interface Part {
  resource: string;
  scope: string;
  spans: string[];
}

/** A trace as lists show it. */
export interface StoredTrace {
  readonly traceId: string;
  readonly requestId: string | undefined;
  readonly account: string | undefined;
  readonly operation: string | undefined;
  readonly isError: boolean;
  readonly startMs: number;
  readonly endMs: number;
  readonly spans: number;
}

interface Entry {
  traceId: string;
  requestId: string | undefined;
  account: string | undefined;
  operation: string | undefined;
  isError: boolean;
  startMs: number;
  endMs: number;
  bytes: number;
  spanIds: Set<string>;
  requests: Set<string>;
  parts: Part[];
}

/** The traces of the last minutes in bounded memory: where they would become more, those that came first make room. */
export class TraceStore {
  readonly #bounds: TraceBounds;
  /** In the order in which they came. */
  readonly #traces = new Map<string, Entry>();
  readonly #byRequest = new Map<string, Entry>();
  #bytes = 0;

  constructor(bounds: TraceBounds = usualBounds) {
    this.#bounds = bounds;
  }

  /** Bytes in use, as they are counted. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Stores spans; one that is there already came again with a repeated export. */
  add(groups: readonly SpanGroup[]): void {
    for (const group of groups) {
      for (const [traceId, spans] of Map.groupBy(group.spans, (span) => span.traceId)) {
        this.#addTo(this.#traces.get(traceId) ?? this.#begin(traceId), group, spans);
      }
    }
  }

  /** Returns all traces, those that began last first. */
  list(): StoredTrace[] {
    return [...this.#traces.values()]
      .sort((one, other) => other.startMs - one.startMs || (other.traceId < one.traceId ? -1 : 1))
      .map((entry) => ({ ...entry, spans: entry.spanIds.size }));
  }

  /** Returns the spans of a trace as OTLP/JSON, by its id or that of a request; undefined if it has none of these. */
  find(id: string): { resourceSpans: Record<string, unknown>[] } | undefined {
    const name = id.toLowerCase();
    const entry = this.#traces.get(name) ?? this.#byRequest.get(name);
    if (!entry) return undefined;
    const resourceSpans = [...Map.groupBy(entry.parts, ({ resource }) => resource)].map(([resource, parts]) => ({
      resource: JSON.parse(resource) as unknown,
      scopeSpans: [...Map.groupBy(parts, ({ scope }) => scope)].map(([scope, ofScope]) => ({
        scope: JSON.parse(scope) as unknown,
        spans: ofScope.flatMap(({ spans }) => spans.map((span) => JSON.parse(span) as unknown)),
      })),
    }));
    return { resourceSpans };
  }

  #begin(traceId: string): Entry {
    const entry: Entry = {
      traceId,
      requestId: undefined,
      account: undefined,
      operation: undefined,
      isError: false,
      startMs: Number.POSITIVE_INFINITY,
      endMs: 0,
      bytes: 0,
      spanIds: new Set(),
      requests: new Set(),
      parts: [],
    };
    this.#traces.set(traceId, entry);
    this.#count(entry, traceCost);
    return entry;
  }

  #addTo(entry: Entry, { resource, scope, service }: SpanGroup, spans: readonly ReceivedSpan[]): void {
    const part: Part = { resource, scope, spans: [] };
    let bytes = partCost + memoryOf(resource) + memoryOf(scope);
    for (const span of spans) {
      if (entry.spanIds.has(span.spanId)) continue;
      const cost = spanCost + memoryOf(span.text);
      // The first span stays: a trace without any could not be shown.
      if (entry.spanIds.size > 0 && entry.bytes + bytes + cost > this.#bounds.bytesPerTrace) break;
      bytes += cost;
      part.spans.push(span.text);
      entry.spanIds.add(span.spanId);
      this.#describe(entry, span, service === 'gateway' && span.kind === serverKind);
    }
    if (part.spans.length === 0) return;
    entry.parts.push(part);
    this.#count(entry, bytes);
  }

  /** The gateway's span says best what a trace is of: it is the request's own. */
  #describe(entry: Entry, span: ReceivedSpan, isOfGateway: boolean): void {
    entry.isError ||= span.isError;
    const isEarlier = span.startMs < entry.startMs;
    entry.startMs = Math.min(entry.startMs, span.startMs);
    entry.endMs = Math.max(entry.endMs, span.endMs);
    const { requestId, account, operation } = span;
    if (isOfGateway && isEarlier) Object.assign(entry, { requestId, account, operation });
    entry.requestId ??= requestId;
    entry.account ??= account;
    entry.operation ??= operation;
    if (requestId === undefined || entry.requests.size >= maxRequests) return;
    const name = requestId.toLowerCase();
    if (entry.requests.has(name)) return;
    entry.requests.add(name);
    this.#byRequest.set(name, entry);
    this.#count(entry, requestCost + name.length * 2);
  }

  #count(entry: Entry, bytes: number): void {
    entry.bytes += bytes;
    this.#bytes += bytes;
    for (const oldest of this.#traces.values()) {
      if (this.#bytes <= this.#bounds.bytes) return;
      // The one that grows is kept: its own bound is below that of all.
      if (oldest !== entry) this.#evict(oldest);
    }
  }

  #evict(entry: Entry): void {
    this.#traces.delete(entry.traceId);
    this.#bytes -= entry.bytes;
    for (const request of entry.requests) {
      if (this.#byRequest.get(request) === entry) this.#byRequest.delete(request);
    }
  }
}

/** Kind of a span that serves a request, in OTLP. */
const serverKind = 2;

/** Returns the bytes that a text takes in memory: V8 has two for each unit where one of them is not Latin-1. */
function memoryOf(text: string): number {
  return text.length * (isLatin1(text) ? 1 : 2);
}

function isLatin1(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: every character of Latin-1, whatever it is
  return /^[\u0000-\u00ff]*$/.test(text);
}
