import { randomUUIDv7 } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError } from '@customer-platform/contracts/core';
import { listen } from '@customer-platform/service-kit';
import { sendJson } from './answer.ts';

/** Takes one request; `continues` says that the client waits for 100 Continue before it sends the body. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse, continues: boolean) => void;

/**
 * Listens. What HTTP itself refuses, a request without Host included, is answered as an envelope with a Request-Id too;
 * an expectation other than 100-continue is ignored.
 */
export async function listenWithEnvelopes(handle: RequestHandler, port: number, host: string) {
  const take = (request: IncomingMessage, response: ServerResponse, continues = false) => {
    if (request.headers.host === undefined && request.httpVersion === '1.1') refuseWithoutHost(response);
    else handle(request, response, continues);
  };
  const listener = await listen(
    (request: IncomingMessage, response: ServerResponse) => take(request, response),
    port,
    host,
  );
  const { server } = listener;
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => take(request, response, true));
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => take(request, response));
  server.on('clientError', answerBrokenHttp);
  return listener;
}

function refuseWithoutHost(response: ServerResponse): void {
  const refusal = new ApiError('invalid_request', 'A request of HTTP/1.1 must have the header Host');
  response.setHeader('Request-Id', randomUUIDv7());
  response.setHeader('Connection', 'close');
  sendJson(response, refusal.status, JSON.stringify(refusal.toBody()));
}

function answerBrokenHttp(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, reason] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request Header Fields Too Large']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request Timeout']
        : [400, 'Bad Request'];
  const message = `The request is not valid HTTP, or not complete: ${reason}`;
  const body = JSON.stringify(new ApiError('invalid_request', message).toBody());
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    `Request-Id: ${randomUUIDv7()}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
