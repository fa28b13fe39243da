import { AsyncLocalStorage } from 'node:async_hooks';
import { trace } from '@opentelemetry/api';
import { type Logger, pino } from 'pino';
import { limitReached } from './limits.ts';

export type { Logger };

/** Ids that every log line of one piece of work has. */
export interface WorkContext {
  requestId?: string;
  eventId?: string;
}

const current = new AsyncLocalStorage<WorkContext>();

/** Runs `work` so that every line logged in it carries the request's or the event's id. */
export function withWorkContext<Result>(context: WorkContext, work: () => Result): Result {
  return current.run(context, work);
}

const secrets = ['authorization', 'secret', 'password', 'api_key', 'key', 'token', 'cookie'];

/**
 * A JSON logger for one process. Lines carry service, request or event id, and trace and span ids;
 * values under names that hold secrets are replaced, two levels deep, and what a command of Redis said that failed (a login has the password).
 */
export function createLogger(service: string, level: string): Logger {
  return pino({
    ...lineOptions(service, level),
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

function lineOptions(service: string, level: string) {
  return { level, base: { service }, timestamp: pino.stdTimeFunctions.isoTime };
}

/** Lines of a buffered logger that are written together, and the longest that they wait. */
const bufferedBytes = 2_048;
const flushMs = 200;
/** The most that a pipe takes as a whole: lines of two writers do not mix. */
const maxWriteBytes = 4_096;
/** Lines that wait for whoever reads them slowly; more are dropped. */
const maxWaitingBytes = 8_388_608;

/**
 * A logger beside `log`, with its service and level, whose lines are written without making anybody wait: together, up to 200 ms later.
 * They carry only what they are given, none of it an object. What is left is written when the process exits.
 */
export function bufferedLogger(log: Logger): Logger {
  const destination = pino.destination({
    dest: 1,
    sync: false,
    minLength: bufferedBytes,
    maxWrite: maxWriteBytes,
    maxLength: maxWaitingBytes,
  });
  destination.on('drop', () => limitReached('request_log'));
  setInterval(() => destination.flush(), flushMs).unref();
  return pino(lineOptions(String(log.bindings().service), log.level), destination);
}
