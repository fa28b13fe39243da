import { z } from 'zod';
import { cut, milliseconds, pad, printable, widthOf } from './text.ts';

/** OTLP/JSON writes 64-bit integers as text, some exporters as numbers. */
const Nanoseconds = z.union([z.string(), z.number()]).default(0);
const Attribute = z.object({
  key: z.string(),
  value: z
    .object({ stringValue: z.string().optional(), intValue: z.union([z.string(), z.number()]).optional() })
    .optional(),
});
const Attributes = z.array(Attribute).default([]);
const Span = z.object({
  traceId: z.string().default(''),
  spanId: z.string(),
  parentSpanId: z.string().default(''),
  name: z.string().default(''),
  startTimeUnixNano: Nanoseconds,
  endTimeUnixNano: Nanoseconds,
  status: z.object({ code: z.union([z.number(), z.string()]).default(0), message: z.string().default('') }).optional(),
  attributes: Attributes,
  events: z.array(z.object({ name: z.string().default(''), attributes: Attributes })).default([]),
});
const Otlp = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: Attributes }).optional(),
      scopeSpans: z.array(z.object({ spans: z.array(Span).default([]) })).default([]),
    }),
  ),
});

interface Bar {
  id: string;
  parent: string;
  name: string;
  service: string;
  startMs: number;
  endMs: number;
  /** `ok`, `error` or `-`, and the status code of a response if it has one. */
  status: string;
  /** Type and text of the error; empty where it has none, or none beside its status code. */
  error: string;
  depth: number;
}

/** Deeper spans are indented as far as these, so that their names keep room. */
const maxIndentedDepth = 12;
const leastName = 16;
const leastBar = 10;

/**
 * Returns the lines of a trace as a waterfall: each span with its service, milliseconds, status and a bar, and below one that failed its
 * error, whole however long it is. Throws if it is not OTLP/JSON.
 */
export function waterfall(trace: unknown, width: number): string[] {
  const result = Otlp.safeParse(trace);
  if (!result.success) throw new Error(`the trace is not OTLP/JSON: ${z.prettifyError(result.error)}`);
  const { bars, traceId } = barsOf(result.data);
  const ordered = inOrder(bars);
  if (ordered.length === 0) return ['no spans'];
  const startMs = ordered.reduce((least, bar) => Math.min(least, bar.startMs), Number.POSITIVE_INFINITY);
  const endMs = ordered.reduce((most, bar) => Math.max(most, bar.endMs), startMs);
  const services = new Set(ordered.map(({ service }) => service)).size;
  const counts = `${counted(ordered.length, 'span')} of ${counted(services, 'service')}`;
  const heading = `trace ${printable(traceId)}, ${counts}, ${milliseconds(endMs - startMs)} ms`;
  return [heading, ...drawn(ordered, { startMs, endMs }, width)];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function barsOf({ resourceSpans }: z.output<typeof Otlp>) {
  const bars = new Map<string, Bar>();
  let traceId = '';
  for (const { resource, scopeSpans } of resourceSpans) {
    const service = attributeOf(resource?.attributes, 'service.name') ?? '-';
    for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
      traceId ||= span.traceId;
      const startMs = Number(span.startTimeUnixNano) / 1e6;
      bars.set(span.spanId, {
        id: span.spanId,
        parent: span.parentSpanId,
        name: printable(span.name),
        service: printable(service),
        startMs,
        // One that has not ended, or ended before it began by another machine's clock, takes no time.
        endMs: Math.max(startMs, Number(span.endTimeUnixNano) / 1e6),
        status: statusOf(span),
        error: printable(errorOf(span)),
        depth: 0,
      });
    }
  }
  return { bars, traceId };
}

function attributeOf(attributes: z.output<typeof Attributes> | undefined, name: string): string | undefined {
  const value = attributes?.find(({ key }) => key === name)?.value;
  return value?.stringValue ?? value?.intValue?.toString();
}

function statusOf({ status, attributes }: z.output<typeof Span>): string {
  const code = attributeOf(attributes, 'http.response.status_code');
  const parts = [outcomeOf(status?.code), code && printable(code)].filter((part) => part !== undefined && part !== '');
  return parts.join(' ') || '-';
}

function outcomeOf(code: number | string | undefined): string | undefined {
  if (code === 2 || code === 'STATUS_CODE_ERROR') return 'error';
  return code === 1 || code === 'STATUS_CODE_OK' ? 'ok' : undefined;
}

/** A response's status code is the type of its error too, and says nothing more; the text is that of the exception, or else of the status. */
function errorOf({ status, attributes, events }: z.output<typeof Span>): string {
  if (outcomeOf(status?.code) !== 'error') return '';
  const exception = events.findLast(({ name }) => name === 'exception')?.attributes;
  const type = attributeOf(attributes, 'error.type') ?? attributeOf(exception, 'exception.type');
  const text = attributeOf(exception, 'exception.message') ?? status?.message;
  const isKnown = type === attributeOf(attributes, 'http.response.status_code');
  return [isKnown ? '' : type, text].filter(Boolean).join(': ');
}

/** Parents before their children, by start. A span whose parent is not in the trace is a root; so is one of a circle of parents. */
function inOrder(bars: Map<string, Bar>): Bar[] {
  const byStart = [...bars.values()].sort((one, other) => one.startMs - other.startMs);
  const children = Map.groupBy(byStart, ({ parent }) => (bars.has(parent) ? parent : ''));
  const ordered = new Set<Bar>();
  for (const root of [...(children.get('') ?? []), ...byStart]) {
    const open = ordered.has(root) ? [] : [root];
    for (let bar = open.pop(); bar; bar = open.pop()) {
      ordered.add(bar);
      const next = (children.get(bar.id) ?? []).filter((child) => !ordered.has(child));
      for (const child of next) child.depth = bar.depth + 1;
      open.push(...next.reverse());
    }
  }
  return [...ordered];
}

function drawn(bars: Bar[], { startMs, endMs }: { startMs: number; endMs: number }, width: number): string[] {
  const names = bars.map((bar) => indentOf(bar) + bar.name);
  const times = bars.map((bar) => milliseconds(bar.endMs - bar.startMs));
  const serviceWidth = widest(['service', ...bars.map(({ service }) => service)]);
  const timeWidth = widest(['ms', ...times]);
  const statusWidth = widest(['status', ...bars.map(({ status }) => status)]);
  const others = serviceWidth + timeWidth + statusWidth + 8;
  const nameWidth = Math.max(leastName, Math.min(widest(['name', ...names]), width - others - leastBar));
  const barWidth = Math.max(leastBar, width - others - nameWidth);
  const perColumn = barWidth / (endMs - startMs || 1);
  const lineOf = ([name = '', service = '', time = '', status = '']: string[], bar: string) =>
    [
      pad(cut(name, nameWidth), nameWidth),
      pad(service, serviceWidth),
      pad(time, timeWidth, 'left'),
      pad(status, statusWidth),
      bar,
    ]
      .join('  ')
      .trimEnd();
  return [
    lineOf(['name', 'service', 'ms', 'status'], ''),
    ...bars.flatMap((bar, index) => {
      const from = Math.min(barWidth - 1, Math.floor((bar.startMs - startMs) * perColumn));
      const length = Math.max(1, Math.min(barWidth - from, Math.round((bar.endMs - bar.startMs) * perColumn)));
      const line = lineOf(
        [names[index]!, bar.service, times[index]!, bar.status],
        ' '.repeat(from) + '█'.repeat(length),
      );
      return bar.error === '' ? [line] : [line, `${indentOf(bar)}  error ${bar.error}`];
    }),
  ];
}

function indentOf({ depth }: Bar): string {
  return '  '.repeat(Math.min(depth, maxIndentedDepth));
}

function widest(texts: string[]): number {
  return texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);
}
