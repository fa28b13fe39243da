import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';

const dist = join(import.meta.dirname, '../dist');
const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
};

/** The built site on loopback, with the gateway's paths and policy. */
export interface ServedSite {
  url: string;
  close(): Promise<void>;
}

/** Starts a server of `dist`. Throws if the site is not built. */
export async function serveSite(): Promise<ServedSite> {
  if (!existsSync(join(dist, 'csp.json'))) throw new Error('packages/docs-site/dist is missing: run npm run build');
  const { 'script-src': scripts } = JSON.parse(readFileSync(join(dist, 'csp.json'), 'utf8')) as Policy;
  const policy = `default-src 'self'; img-src 'self' data:; script-src 'self' 'wasm-unsafe-eval' ${scripts.join(' ')}; base-uri 'none'`;
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://site');
    const path = pathname.replace(/^\/docs\/?/, '') || 'index';
    const file = [path, `${path}.html`].find((each) => extname(each) !== '' && existsSync(join(dist, each)));
    response.statusCode = file ? 200 : 404;
    response.setHeader('content-security-policy', policy);
    response.setHeader('content-type', types[extname(file ?? '404.html')] ?? 'application/octet-stream');
    response.end(readFileSync(join(dist, file ?? '404.html')));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Policy {
  'script-src': string[];
}
