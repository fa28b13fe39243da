import type { IncomingMessage, ServerResponse } from 'node:http';
import { bufferedLogger, clientGone, type Logger } from '@customer-platform/service-kit';

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
