import { randomUUIDv7 } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from '@customer-platform/contracts/core';
import { sendRefusal } from '@customer-platform/service-kit';

/** Sets the headers of every response but the pages and files of the documentation. */
export function setProtectiveHeaders(response: ServerResponse): void {
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('X-Content-Type-Options', 'nosniff');
}

/**
 * Time and bytes that a refused client may go on sending before its connection is cut: it gets to read the response.
 */
const lingerMs = 2_000;
const lingerBytes = 8 * 1_048_576;

/** Returns the refusal of a request without a Host header (HTTP/1.1) or with two, undefined if it is valid. */
export function hostRefusal({ rawHeaders, headers, httpVersion }: IncomingMessage): ApiError | undefined {
  if (headers.host === undefined) {
    if (httpVersion !== '1.1') return undefined;
    return new ApiError('invalid_request', 'An HTTP/1.1 request must have a Host header');
  }
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1 ? new ApiError('invalid_request', 'The Host header must be sent once') : undefined;
}

/** Refuses a request that no handler sees, and ends its connection. */
export function refuseUnread(response: ServerResponse, refusal: ApiError): void {
  response.setHeader('Request-Id', randomUUIDv7());
  response.setHeader('Connection', 'close');
  sendRefusal(response, refusal);
}

/** Responds to invalid or oversized HTTP with an envelope, and closes the connection once the client has read it. */
export function refuseBrokenHttp(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (lingering.has(socket)) {
    // Read and drop what still arrives: closing a connection with unread data loses the response.
    if ((socket as Socket).bytesRead > lingering.get(socket)! + lingerBytes) socket.destroy();
    return;
  }
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  lingering.set(socket, (socket as Socket).bytesRead);
  socket.end(envelopeFor(error.code));
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
  socket.once('end', () => socket.destroy());
}

/** Refused connections, with the bytes that they had sent by then. */
const lingering = new WeakMap<Duplex, number>();

/** Statuses of Node's errors, 400 for all others. */
const statuses: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

function envelopeFor(code = ''): string {
  const status = statuses[code] ?? 400;
  const reason = STATUS_CODES[status];
  const message = `The request is not valid HTTP, or not complete: ${reason}`;
  const body = JSON.stringify(new ApiError('invalid_request', message).toBody());
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    `Request-Id: ${randomUUIDv7()}`,
    'Content-Type: application/json; charset=utf-8',
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
