import type { GatewayConfig } from '../settings.ts';
import { SpanReceiver, type SpanReceiverParts } from './receive-spans.ts';
import { TraceThread } from './trace-thread.ts';

/** Traces of this platform. */
export interface Traces {
  /** Undefined where this gateway collects none. */
  thread: TraceThread | undefined;
  receiver: SpanReceiver | undefined;
  /** Returns the message that says where a trace is instead, or all of them are. */
  elsewhere(id?: string): string;
}

const traceId = /^[0-9a-f]{32}$/i;

/** Opens what keeps traces and what receives them, where the settings ask for it. */
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
        return 'No traces are collected here: set TRACE_TOKEN and have the processes export to this address, or set TRACE_URL to link to your own';
      }
      if (id !== undefined && traceId.test(id))
        return `The trace is at ${TRACE_URL.replace('{trace_id}', id.toLowerCase())}`;
      return `Traces are at ${TRACE_URL}; the trace_id of a request is in its line of the gateway's log`;
    },
  };
}
