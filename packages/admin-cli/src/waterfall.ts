import type { Body } from './control-plane-client.ts';
import { type Columns, type Screen, table } from './table.ts';
import { cut, milliseconds, printable } from './text.ts';

type Attribute = { key: string; value?: { stringValue?: string; intValue?: string | number } };
type ResourceSpans = { resource?: { attributes?: Attribute[] }; scopeSpans?: { spans?: Span[] }[] };

/** The shown fields of an OTLP/JSON span. */
interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status?: { code?: number; message?: string };
  attributes?: Attribute[];
  events?: { name: string; attributes?: Attribute[] }[];
}

/** A span as a row. `depth` is the number of its ancestors. */
type Bar = Span & { service: string; startMs: number; endMs: number; depth: number };

/** Width of the columns service, ms and status, and of all gaps. */
const otherColumns = 35;

/** Formats a trace as a waterfall: each span with its service, milliseconds, status, bar, and error if it failed. */
export function waterfall({ resourceSpans }: Body<'getTrace'>, screen: Screen): string[] {
  const bars = inOrder((resourceSpans as ResourceSpans[]).flatMap(barsOf));
  const startMs = bars.reduce((least, bar) => Math.min(least, bar.startMs), Number.POSITIVE_INFINITY);
  const endMs = bars.reduce((most, bar) => Math.max(most, bar.endMs), startMs);
  const services = [...new Set(bars.map(({ service }) => service))].join(', ');
  const path = attributeOf(bars[0]?.attributes, 'url.path');
  const key = bars.map(({ attributes }) => attributeOf(attributes, 'platform.key')).find(Boolean);
  const barWidth = Math.floor(screen.columns / 5);
  const nameWidth = screen.columns - barWidth - otherColumns;
  const perColumn = barWidth / (endMs - startMs || 1);
  const columns: Columns<Bar> = {
    name: ({ depth, name }) => cut('  '.repeat(Math.min(depth, 8)) + printable(name), nameWidth),
    service: 'service',
    ms: (bar) => milliseconds(bar.endMs - bar.startMs),
    status: (bar) =>
      [outcomeOf(bar), attributeOf(bar.attributes, 'http.response.status_code')].filter(Boolean).join(' '),
    '': (bar) => {
      const from = Math.min(barWidth - 1, Math.floor((bar.startMs - startMs) * perColumn));
      const length = Math.round((bar.endMs - bar.startMs) * perColumn);
      return ' '.repeat(from) + '█'.repeat(Math.max(1, Math.min(barWidth - from, length)));
    },
    error: errorOf,
  };
  const heading = `trace ${bars[0]?.traceId} of ${services}, ${milliseconds(endMs - startMs)} ms`;
  return [
    printable(heading + (path ? `, ${path}` : '') + (key ? `, key …${key}` : '')),
    ...table(bars, columns, screen),
  ];
}

function barsOf({ resource, scopeSpans = [] }: ResourceSpans): Bar[] {
  const service = attributeOf(resource?.attributes, 'service.name') ?? '-';
  return scopeSpans.flatMap(({ spans = [] }) =>
    spans.map((span) => {
      const startMs = Number(span.startTimeUnixNano) / 1e6;
      // A span without an end, or with an end before its start because of clock skew, has length 0.
      return { ...span, service, startMs, endMs: Math.max(startMs, Number(span.endTimeUnixNano) / 1e6), depth: 0 };
    }),
  );
}

function attributeOf(attributes: Attribute[] | undefined, name: string): string | undefined {
  const value = attributes?.find(({ key }) => key === name)?.value;
  return value?.stringValue ?? value?.intValue?.toString();
}

const outcomeOf = ({ status }: Span) => ['', 'ok', 'error'][status?.code ?? 0];

/** Returns the type and message of a failed span's error. Omits a type that only repeats the response's status code. */
function errorOf(span: Span): string | undefined {
  if (outcomeOf(span) !== 'error') return undefined;
  const { status, attributes, events = [] } = span;
  const exception = events.findLast(({ name }) => name === 'exception')?.attributes;
  const type = attributeOf(attributes, 'error.type') ?? attributeOf(exception, 'exception.type');
  const text = attributeOf(exception, 'exception.message') ?? status?.message;
  const isKnown = type === attributeOf(attributes, 'http.response.status_code');
  return [isKnown ? '' : type, text].filter(Boolean).join(': ');
}

/** Sorts parents before their children, and siblings by start. A span whose parent is not in the trace is a root. */
function inOrder(bars: Bar[]): Bar[] {
  const ids = new Set(bars.map(({ spanId }) => spanId));
  const byStart = bars.toSorted((one, other) => one.startMs - other.startMs);
  const children = Map.groupBy(byStart, ({ parentSpanId = '' }) => (ids.has(parentSpanId) ? parentSpanId : ''));
  const ordered: Bar[] = [];
  const add = (parent: string, depth: number) => {
    for (const bar of children.get(parent) ?? []) {
      ordered.push({ ...bar, depth });
      add(bar.spanId, depth + 1);
    }
  };
  add('', 0);
  return ordered;
}
