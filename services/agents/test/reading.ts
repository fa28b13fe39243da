import type { ServerResponse } from 'node:http';
import { type Received, startReceiver } from '@customer-platform/testkit';

/** Request handler of a path. Paths without a handler respond with 404. */
export type SiteHandler = (request: Received, response: ServerResponse) => void;

/** A website on loopback, which records its requests. */
export interface Site {
  url: string;
  /** Requested paths in order, except robots.txt. */
  requests: string[];
  paths: Map<string, SiteHandler>;
  stop(): Promise<void>;
}

export async function startSite(): Promise<Site> {
  const receiver = await startReceiver();
  const site: Site = { url: receiver.url, requests: [], paths: new Map(), stop: receiver.stop };
  receiver.respond = (request, response) => {
    if (request.path !== '/robots.txt') site.requests.push(request.path);
    const handler = site.paths.get(request.path);
    if (handler) handler(request, response);
    else response.writeHead(404).end('nothing here');
  };
  return site;
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

/** Returns the handler of a page that never ends. It sends `begin`, then a character every 20 ms. */
export function drip(type: string, begin: string | Buffer = ''): SiteHandler {
  return (_, response) => {
    response.writeHead(200, { 'content-type': type }).write(begin || '.');
    const timer = setInterval(() => response.write('.'), 20);
    response.on('close', () => clearInterval(timer));
  };
}
