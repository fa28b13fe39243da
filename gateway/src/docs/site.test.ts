import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createLogger } from '@customer-platform/service-kit';
import { rawRequest } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sendRaw } from '../../test/raw-http.ts';
import { listenWithEnvelopes, refuse } from '../http/listener.ts';
import { docsServer } from './docs.ts';

/** A site as it is built, with one file of each kind. */
const page = (title: string) => `<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1></html>`;
const script = 'export const text = "hashed";'.repeat(100);
const built = {
  '.bootstrap-hash': 'abc',
  '404.html': page('Page not found'),
  'index.html': page('Home'),
  'quickstart.html': page('Quickstart'),
  'quickstart.md': '# Quickstart\n',
  'concepts/index.html': page('Concepts'),
  'reference.html': `<meta property="csp-nonce" content="{csp-nonce}">${page('Reference')}`,
  'reference/scalar.js': script,
  '_astro/page.a1b2.css': 'h1 { color: red }',
  'pagefind/wasm.en.pagefind': 'wasm',
  'pagefind/fragment/en_1a2b.pf_fragment': 'fragment',
  'images/life.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'client.tgz': 'packed',
  'client-1.0.0.tgz': 'packed',
  'client-python.tar.gz': 'archive',
  'client-python-1.0.0.tar.gz': 'archive',
  'favicon.svg': '<svg xmlns="http://www.w3.org/2000/svg"><title>icon</title></svg>',
  'robots.txt': 'User-agent: *\n',
  'llms.txt': '# Customer Platform\n',
  'csp.json': JSON.stringify({ 'script-src': ["'sha256-abc='"] }),
};

let directory: string;
let listener: Awaited<ReturnType<typeof listenWithEnvelopes>>;

/** Serves the documentation of a directory, and nothing besides. */
async function serve(from: string) {
  const log = createLogger('test', 'silent');
  const serveDocs = docsServer({ api: { text: async () => '{}' }, log, directory: from });
  const handle: Parameters<typeof listenWithEnvelopes>[0] = (request, response) => {
    try {
      if (!serveDocs(request, response)) response.writeHead(418).end();
    } catch (error) {
      refuse(response, error, log);
    }
  };
  return await listenWithEnvelopes(handle, { port: 0, host: '127.0.0.1', log });
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'site-'));
  for (const [name, text] of Object.entries(built)) {
    mkdirSync(join(directory, dirname(name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  listener = await serve(directory);
});
afterAll(async () => {
  await listener?.close(0);
  rmSync(directory, { recursive: true, force: true });
});

const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  rawRequest(listener.url, method, path, { headers });

describe('a file of the site', () => {
  it.each([
    ['/docs', 'text/html; charset=utf-8', 'index.html'],
    ['/docs?utm_source=x', 'text/html; charset=utf-8', 'index.html'],
    ['/docs/quickstart', 'text/html; charset=utf-8', 'quickstart.html'],
    ['/docs/concepts', 'text/html; charset=utf-8', 'concepts/index.html'],
    ['/docs/quickstart.md', 'text/markdown; charset=utf-8', 'quickstart.md'],
    ['/docs/reference/scalar.js', 'text/javascript; charset=utf-8', 'reference/scalar.js'],
    ['/docs/_astro/page.a1b2.css', 'text/css; charset=utf-8', '_astro/page.a1b2.css'],
    ['/docs/pagefind/wasm.en.pagefind', 'application/octet-stream', 'pagefind/wasm.en.pagefind'],
    ['/docs/images/life.svg', 'image/svg+xml', 'images/life.svg'],
    ['/docs/client.tgz', 'application/gzip', 'client.tgz'],
    ['/docs/client-python.tar.gz', 'application/gzip', 'client-python.tar.gz'],
    ['/llms.txt', 'text/plain; charset=utf-8', 'llms.txt'],
    ['/robots.txt', 'text/plain; charset=utf-8', 'robots.txt'],
    ['/favicon.ico', 'image/svg+xml', 'favicon.svg'],
  ] as const)('is at %s as %s', async (path, type, name) => {
    for (const encoding of ['gzip', 'identity']) {
      const { status, text, headers } = await ask(path, { 'accept-encoding': encoding });
      expect([status, headers.get('content-type'), text]).toEqual([200, type, built[name]]);
      const head = await ask(path, { 'accept-encoding': encoding }, 'HEAD');
      expect([head.status, head.text]).toEqual([200, '']);
      expect(head.headers.get('content-length')).toBe(headers.get('content-length'));
    }
  });

  it('is kept by browsers for ever if its name has its hash or version, and is asked for each time otherwise', async () => {
    const kept = async (path: string) => (await ask(path)).headers.get('cache-control');
    for (const path of [
      '/docs/_astro/page.a1b2.css',
      '/docs/pagefind/fragment/en_1a2b.pf_fragment',
      '/docs/client-1.0.0.tgz',
      '/docs/client-python-1.0.0.tar.gz',
    ])
      expect(await kept(path)).toBe('public, max-age=31536000, immutable');
    for (const path of ['/docs', '/docs/quickstart.md', '/docs/reference/scalar.js', '/docs/client.tgz', '/llms.txt'])
      expect(await kept(path)).toBe('no-cache');
  });

  it('is not sent again to who has it', async () => {
    for (const path of ['/docs/quickstart', '/docs/client.tgz']) {
      const etag = (await ask(path)).headers.get('etag')!;
      const again = await ask(path, { 'if-none-match': etag });
      expect([again.status, again.text]).toEqual([304, '']);
      expect((await ask(path, { 'if-none-match': '"other"' })).status).toBe(200);
    }
  });

  it('is compressed for who takes that, if it is text', async () => {
    const raw = async (path: string) =>
      await fetch(`${listener.url}${path}`, { headers: { 'accept-encoding': 'gzip' } }).then((each) => each.headers);
    expect((await raw('/docs/reference/scalar.js')).get('content-encoding')).toBe('gzip');
    expect((await raw('/docs/client.tgz')).get('content-encoding')).toBeNull();
    const reply = await sendRaw(
      listener.url,
      'GET /docs/reference/scalar.js HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n',
    );
    expect(Number(reply.headers['content-length'])).toBeLessThan(script.length);
  });

  it('that is an archive is saved under its own name', async () => {
    const { headers } = await ask('/docs/client-python.tar.gz');
    expect(headers.get('content-disposition')).toBe('attachment; filename="client-python.tar.gz"');
    expect((await ask('/docs/quickstart')).headers.get('content-disposition')).toBeNull();
  });
});

describe('the policy of a page', () => {
  const policyAt = async (path: string) => (await ask(path)).headers.get('content-security-policy')!;

  it('allows scripts of the site and the inline ones that the build names, and nothing from elsewhere', async () => {
    const directives = (await policyAt('/docs')).split('; ');
    expect(directives).toContain("default-src 'self'");
    expect(directives).toContain("script-src 'self' 'wasm-unsafe-eval' 'sha256-abc='");
    expect(directives).toContain("style-src 'self'");
    expect(directives.filter((each) => /https?:|\*/.test(each))).toEqual([]);
  });

  it('has the nonce that the page has, a new one for each response', async () => {
    const nonces = new Set<string>();
    for (const encoding of ['gzip', 'identity']) {
      const { text, headers } = await ask('/docs/reference', { 'accept-encoding': encoding });
      const [, nonce] = /content="([^"]+)"/.exec(text)!;
      expect(headers.get('content-security-policy')).toContain(`style-src 'self' 'nonce-${nonce}'`);
      nonces.add(nonce!);
    }
    expect([nonces.size, nonces.has('{csp-nonce}')]).toEqual([2, false]);
  });
});

describe('a path that has no file', () => {
  it('leads to the page of the same name', async () => {
    for (const [path, target] of [
      ['/docs/', '/docs'],
      ['/docs/index', '/docs'],
      ['/docs/index.html', '/docs'],
      ['/docs/quickstart/', '/docs/quickstart'],
      ['/docs/quickstart.html?q=1', '/docs/quickstart?q=1'],
      ['/docs/concepts/?q=1', '/docs/concepts?q=1'],
    ]) {
      const { status, headers } = await ask(path!);
      expect([path, status, headers.get('location')]).toEqual([path, 301, target]);
    }
  });

  it('is 404, with the page of the site for browsers and an envelope for anything else', async () => {
    const shown = await ask('/docs/none', { accept: 'text/html,*/*;q=0.8' });
    expect([shown.status, shown.text]).toEqual([404, built['404.html']]);
    const refused = await ask('/docs/none', { accept: '*/*' });
    expect([refused.status, refused.body.error.code]).toEqual([404, 'not_found']);
    expect(refused.headers.get('cache-control')).toBe('no-store');
    for (const { headers } of [shown, refused]) expect(headers.get('vary')).toBe('Accept, Accept-Encoding');
    expect((await ask('/docsx')).status).toBe(418);
  });

  it('reaches nothing outside the site, and nothing that is the build’s own', async () => {
    for (const path of [
      '/docs/../package.json',
      '/docs/..%2fpackage.json',
      '/docs/%2e%2e/package.json',
      '/docs/..\\package.json',
      '/docs//etc/passwd',
      '/docs/constructor',
      '/docs/__proto__',
      '/docs/%00',
      '/docs/csp.json',
      '/docs/.bootstrap-hash',
      '/docs/quickstart/../../secrets',
      `/docs/${'x'.repeat(8_000)}`,
    ]) {
      const reply = await sendRaw(listener.url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect([path.slice(0, 40), reply.status]).toEqual([path.slice(0, 40), 404]);
    }
    const nul = await sendRaw(listener.url, 'GET /docs/\0 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(nul.status).toBe(400);
  });
});

it('a path can be read and nothing else', async () => {
  for (const path of ['/docs', '/docs/quickstart', '/docs/none', '/llms.txt']) {
    const refused = await ask(path, {}, 'POST');
    expect([path, refused.status, refused.headers.get('allow')]).toEqual([path, 405, 'GET, HEAD, OPTIONS']);
    const options = await ask(path, {}, 'OPTIONS');
    expect([options.status, options.text, options.headers.get('allow')]).toEqual([204, '', 'GET, HEAD, OPTIONS']);
  }
});

it('a site that was not built is 503, which says how to build it, while the document is there', async () => {
  const bare = await serve(join(directory, 'none'));
  try {
    for (const path of ['/docs', '/docs/quickstart', '/llms.txt']) {
      const { status, body } = await rawRequest(bare.url, 'GET', path);
      expect([path, status, body.error.code]).toEqual([path, 503, 'service_unavailable']);
      expect(body.error.message).toContain('npm run build -w packages/docs-site');
    }
    expect((await rawRequest(bare.url, 'GET', '/v1/openapi.json')).status).toBe(200);
  } finally {
    await bare.close(0);
  }
});
