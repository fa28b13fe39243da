import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** What a site answers for a path; undefined: 404. */
export type SiteAnswer = (request: IncomingMessage, response: ServerResponse) => void;

/** Somebody's website on loopback, which counts what it was asked for. */
export interface Site {
  url: string;
  /** The paths asked for, in order, robots.txt left out. */
  requests: string[];
  paths: Map<string, SiteAnswer>;
  stop(): Promise<void>;
}

export async function startSite(): Promise<Site> {
  const paths = new Map<string, SiteAnswer>();
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const path = request.url!;
    if (path !== '/robots.txt') requests.push(path);
    const answer = paths.get(path);
    if (answer) answer(request, response);
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

/** A page of HTML with an ETag, answered with 304 where the asker has it. */
export function htmlPage(title: string, text: string, etag?: string): SiteAnswer {
  const html = `<!doctype html><title>${title}</title><h1>${title}</h1><p>${text}</p>`;
  return (request, response) => {
    const headers = { 'content-type': 'text/html; charset=utf-8', ...(etag ? { etag } : {}) };
    if (etag && request.headers['if-none-match'] === etag) response.writeHead(304, headers).end();
    else response.writeHead(200, headers).end(html);
  };
}

/** A page that never ends: `begin`, and then a character now and then. */
export function drip(type: string, begin: string | Buffer = ''): SiteAnswer {
  return (_, response) => {
    response.writeHead(200, { 'content-type': type }).write(begin || '.');
    const timer = setInterval(() => response.write('.'), 20);
    response.on('close', () => clearInterval(timer));
  };
}
