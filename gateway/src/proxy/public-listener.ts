import { randomUUIDv7 } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError } from '@customer-platform/contracts/core';
import { listen } from '@customer-platform/service-kit';
import type { PublicHandler } from './public-handler.ts';

/** Listens on the public port. Also what HTTP itself refuses is answered as an envelope with a Request-Id. */
export async function listenPublicly(handle: PublicHandler, port: number, host: string) {
  const listener = await listen(
    (request: IncomingMessage, response: ServerResponse) => handle(request, response),
    port,
    host,
  );
  const { server } = listener;
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => handle(request, response, true));
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => handle(request, response));
  server.on('clientError', answerBrokenRequest);
  return listener;
}

function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
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
