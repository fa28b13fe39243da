import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from './wait-for.ts';

/** A request that a receiver got. */
export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  at: number;
}

/** A customer's server on loopback. It records requests and answers with `respond`. */
export interface Receiver {
  url: string;
  received: Received[];
  /** Answers each request; responds 204 by default. */
  respond: (request: Received, response: ServerResponse) => void;
  /** Waits for the first request that `matches`. */
  next(matches?: (request: Received) => boolean, timeoutMs?: number): Promise<Received>;
  stop(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const got = {
        method: request.method!,
        path: request.url!,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
        at: Date.now(),
      };
      received.push(got);
      receiver.respond(got, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    respond: (_request, response) => response.writeHead(204).end(),
    next: (matches = () => true, timeoutMs) =>
      waitFor('a request at the receiver', () => received.find(matches), timeoutMs),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}
