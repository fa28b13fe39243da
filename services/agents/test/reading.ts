import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** Request handler of a path; paths without one respond with 404. */
export type SiteHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** A website on loopback, which records its requests. */
export interface Site {
  url: string;
  /** Requested paths in order, without robots.txt. */
  requests: string[];
  paths: Map<string, SiteHandler>;
  stop(): Promise<void>;
}

export async function startSite(): Promise<Site> {
  const paths = new Map<string, SiteHandler>();
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const path = request.url!;
    if (path !== '/robots.txt') requests.push(path);
    const handler = paths.get(path);
    if (handler) handler(request, response);
    else response.writeHead(404).end('nothing here');
  });
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    paths,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Returns the handler of an HTML page with an ETag, which responds with 304 if the client has it. */
export function htmlPage(title: string, text: string, etag?: string): SiteHandler {
  const html = `<!doctype html><title>${title}</title><h1>${title}</h1><p>${text}</p>`;
  return (request, response) => {
    const headers = { 'content-type': 'text/html; charset=utf-8', ...(etag ? { etag } : {}) };
    if (etag && request.headers['if-none-match'] === etag) response.writeHead(304, headers).end();
    else response.writeHead(200, headers).end(html);
  };
}

/** Returns the handler of a page that never ends: `begin`, then a character every 20 ms. */
export function drip(type: string, begin: string | Buffer = ''): SiteHandler {
  return (_, response) => {
    response.writeHead(200, { 'content-type': type }).write(begin || '.');
    const timer = setInterval(() => response.write('.'), 20);
    response.on('close', () => clearInterval(timer));
  };
}
