import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that a stand-in service received. */
export interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** A service behind the gateway. It responds 200 with the request by default, or with `respond`. */
export interface StandInService {
  url: string;
  seen: Seen[];
  respond: (seen: Seen, response: ServerResponse) => void;
  stop(): Promise<void>;
}

export async function startStandIn(port = 0): Promise<StandInService> {
  const echo = (seen: Seen, response: ServerResponse) => {
    response.setHeader('content-type', 'application/json; charset=utf-8');
    response.end(JSON.stringify(seen));
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url, headers } = request;
      const seen = { method: method!, url: url!, headers, body: Buffer.concat(chunks).toString() };
      service.seen.push(seen);
      service.respond(seen, response);
    });
  });
  // As long as in services: a shorter timeout may close a socket while the gateway sends a request on it.
  server.keepAliveTimeout = 75_000;
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const service: StandInService = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    respond: echo,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return service;
}
