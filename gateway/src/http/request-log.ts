import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientGone, type Logger, limitReached } from '@customer-platform/service-kit';
import { pino } from 'pino';

/** Event of a response that has begun to stream: from then on it is no request under way any more. */
export const streamBegan = 'stream began';

/** Facts about a request that are known once it has been served. Neither its path nor its query: they may have secrets. */
export interface RequestFacts {
  account?: string | undefined;
  operation?: string | undefined;
  trace_id?: string | undefined;
}

/** Notes that a request begins; returns what logs it, to be called when it has been served. */
export type LogRequest = (request: IncomingMessage, response: ServerResponse) => (facts: RequestFacts) => void;

/** Log of requests, one line each. */
export interface RequestLog {
  request: LogRequest;
  /** Logs one that could not be read: neither its method nor its time is known. */
  unread(facts: { request_id: string; status: number; bytes: number }): void;
}

/** One log for all listeners of a process: each has a buffer of its own. */
const logs = new WeakMap<Logger, RequestLog>();

/** Returns the log of requests in the format and at the level of `log`; undefined if it has no level info. */
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

/** Calls `done` once a response has ended; one that streams as soon as it does, for how long it goes on says nothing of how it was served. */
export function whenServed(response: ServerResponse, done: () => void): void {
  const once = () => {
    response.off('close', once).off(streamBegan, once);
    done();
  };
  response.on('close', once).on(streamBegan, once);
}

/** Returns whether the client of a response that was served disconnected before. */
export function isClientGone(response: ServerResponse): boolean {
  return response.closed && !response.writableFinished;
}

/** Returns the status of a response that was served; 499 if its client disconnected before. */
export function statusOf(response: ServerResponse): number {
  return isClientGone(response) ? clientGone : response.statusCode;
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
