import type { GatewayConfig } from '../settings.ts';
import { SpanReceiver, type SpanReceiverParts } from './receive-spans.ts';
import { TraceThread } from './trace-thread.ts';

/** The traces that this gateway stores. */
export interface Traces {
  /** Undefined if this gateway collects no traces. */
  thread: TraceThread | undefined;
  receiver: SpanReceiver | undefined;
  /** Returns the message that says where a trace, or all traces, can be found instead. */
  elsewhere(id?: string): string;
}

const traceId = /^[0-9a-f]{32}$/i;

/** Opens the store and the receiver of traces if the settings enable them. */
export function openTraces(
  { TRACE_TOKEN: token, TRACE_URL }: GatewayConfig,
  parts: Pick<SpanReceiverParts, 'log' | 'addressOf'>,
): Traces {
  const thread = token === undefined ? undefined : new TraceThread(parts.log);
  return {
    thread,
    receiver: thread && token !== undefined ? new SpanReceiver({ ...parts, thread, token }) : undefined,
    elsewhere(id) {
      if (TRACE_URL === undefined) {
        return 'This gateway collects no traces: set TRACE_TOKEN and export spans to this address, or set TRACE_URL to link to your own';
      }
      if (id !== undefined && traceId.test(id))
        return `The trace is at ${TRACE_URL.replace('{trace_id}', id.toLowerCase())}`;
      return `Traces are at ${TRACE_URL}; the gateway's log line of a request has its trace_id`;
    },
  };
}
