import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientGone, type Logger, limitReached } from '@customer-platform/service-kit';
import { pino } from 'pino';

/** Event of a response that has begun to stream. From then on the request no longer counts as active. */
export const streamBegan = 'stream began';

/** Facts about a request that has been served. Path and query are left out, because they may contain secrets. */
export interface RequestFacts {
  account?: string | undefined;
  operation?: string | undefined;
  trace_id?: string | undefined;
}

/** Records the begin of a request. Returns a function that logs it, to be called when the request has been served. */
export type LogRequest = (request: IncomingMessage, response: ServerResponse) => (facts: RequestFacts) => void;

/** Log of requests, with one line each. */
export interface RequestLog {
  request: LogRequest;
  /** Logs a request that could not be read, whose method and duration are unknown. */
  unread(facts: { request_id: string; status: number; bytes: number }): void;
}

/** One log for all listeners of a process, because each log has its own buffer. */
const logs = new WeakMap<Logger, RequestLog>();

/** Returns the request log in the format and at the level of `log`. Returns undefined if the level info is disabled. */
export function requestLog(log: Logger): RequestLog | undefined {
  if (!log.isLevelEnabled('info')) return undefined;
  const known = logs.get(log);
  if (known) return known;
  const lines = bufferedLogger(log);
  const made = { request: logTo(lines), unread: (facts: object) => lines.info(facts, 'request') };
  logs.set(log, made);
  return made;
}

function logTo(lines: Logger): LogRequest {
  return (request, response) => {
    const beganMs = performance.now();
    const { method, socket } = request;
    const sentBefore = socket.bytesWritten;
    return ({ account, operation, trace_id }) =>
      lines.info(
        {
          request_id: response.getHeader('request-id'),
          method,
          account,
          operation,
          status: statusOf(response),
          ms: Math.round((performance.now() - beganMs) * 10) / 10,
          bytes: socket.bytesWritten - sentBefore,
          trace_id,
        },
        'request',
      );
  };
}

/** Calls `done` once a response has ended. Calls it when a stream begins, because the length of a stream says nothing about how it was served. */
export function whenServed(response: ServerResponse, done: () => void): void {
  const once = () => {
    response.off('close', once).off(streamBegan, once);
    done();
  };
  response.on('close', once).on(streamBegan, once);
}

/** Returns whether the client disconnected before a served response ended. */
export function isClientGone(response: ServerResponse): boolean {
  return response.closed && !response.writableFinished;
}

/** Returns the status of a served response, or 499 if its client disconnected before the end. */
export function statusOf(response: ServerResponse): number {
  return isClientGone(response) ? clientGone : response.statusCode;
}

/** Bytes of log lines that are written together, and their longest delay. */
const bufferedBytes = 2_048;
const flushMs = 200;
/** Maximum bytes that a pipe writes atomically, so that lines of two writers do not mix. */
const maxWriteBytes = 4_096;
/** Maximum bytes of lines waiting for a slow reader. Further lines are dropped. */
const maxWaitingBytes = 8_388_608;

/**
 * Returns a second logger with the service and level of `log`, which writes lines in batches within 200 ms. Logging never blocks a request. Its
 * lines have only the given values, none of which may be an object. The rest is written when the process exits.
 */
function bufferedLogger(log: Logger): Logger {
  const destination = pino.destination({
    dest: 1,
    sync: false,
    minLength: bufferedBytes,
    maxWrite: maxWriteBytes,
    maxLength: maxWaitingBytes,
  });
  destination.on('drop', () => limitReached('request_log'));
  setInterval(() => destination.flush(), flushMs).unref();
  const base = { service: log.bindings().service };
  return pino({ level: log.level, base, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}
