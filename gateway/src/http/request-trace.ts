import { type TraceHeaders, telemetryEnabled } from '@customer-platform/service-kit';
import { type Attributes, context, propagation, ROOT_CONTEXT, type Span, SpanKind, trace } from '@opentelemetry/api';

const tracer = trace.getTracer('customer-platform');

/** The trace of a request that comes from outside. */
export interface RequestTrace {
  id: string;
  /** They continue it, recorded or not: each process after this one does as was decided here. */
  headers: TraceHeaders;
  /** Undefined where the trace is not recorded. To be ended by the caller. */
  span: Span | undefined;
  /** Runs work as its part; a trace that is not recorded has no parts, and this costs nothing. */
  run<Result>(work: () => Result): Result;
}

/**
 * Begins the trace of a request; undefined while telemetry is off. Its span is linked with the client's own, `linked`, instead of continuing
 * it: what is recorded is for us to decide.
 */
export function traceRequest(
  name: string,
  attributes: Attributes,
  linked: TraceHeaders | undefined,
): RequestTrace | undefined {
  if (!telemetryEnabled()) return undefined;
  const client = linked && trace.getSpanContext(propagation.extract(ROOT_CONTEXT, linked));
  const links = client ? [{ context: client }] : [];
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes, links, root: true }, ROOT_CONTEXT);
  const { traceId, spanId, traceFlags } = span.spanContext();
  const common = {
    id: traceId,
    // By hand, since the SDK's way by a context takes as long as the span itself; a trace that begins here has no state.
    headers: { traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}` },
  };
  if (!span.isRecording()) return { ...common, span: undefined, run: (work) => work() };
  const own = trace.setSpan(ROOT_CONTEXT, span);
  return { ...common, span, run: (work) => context.with(own, work) };
}
