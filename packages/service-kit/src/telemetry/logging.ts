import { AsyncLocalStorage } from 'node:async_hooks';
import { trace } from '@opentelemetry/api';
import { type Logger, pino } from 'pino';

export type { Logger };

/** Ids that every log line of one piece of work has. */
export interface WorkContext {
  requestId?: string;
  eventId?: string;
}

const current = new AsyncLocalStorage<WorkContext>();

/** Runs `work` so that every line it logs carries the id of the request or event. */
export function withWorkContext<Result>(context: WorkContext, work: () => Result): Result {
  return current.run(context, work);
}

const secrets = ['authorization', 'secret', 'password', 'api_key', 'key', 'token', 'cookie'];

/**
 * Returns a JSON logger for one process. Lines carry service, request or event id, and trace and span ids. Redacts values under names of secrets,
 * two levels deep, and the arguments of a failed Redis command, since a login has the password.
 */
export function createLogger(service: string, level: string): Logger {
  return pino({
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: ['err.command.args', ...secrets.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])],
      censor: '[redacted]',
    },
    serializers: { err: pino.stdSerializers.err },
    mixin() {
      const span = trace.getActiveSpan()?.spanContext();
      const work = current.getStore();
      return {
        ...(work?.requestId ? { request_id: work.requestId } : {}),
        ...(work?.eventId ? { event_id: work.eventId } : {}),
        ...(span ? { trace_id: span.traceId, span_id: span.spanId } : {}),
      };
    },
  });
}
