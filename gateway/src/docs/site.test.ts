import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createLogger } from '@customer-platform/service-kit';
import { rawRequest } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sendRaw } from '../../test/raw-http.ts';
import { listenWithEnvelopes, refuse } from '../http/listener.ts';
import { docsServer } from './docs.ts';

/** A built site, with one file of each kind. */
const page = (title: string) => `<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1></html>`;
const script = 'export const text = "hashed";'.repeat(100);
const built = {
  '.bootstrap-hash': 'abc',
  '404.html': page('Page not found'),
  'index.html': page('Home'),
  'index.md': '# Home\n',
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

/** Serves the documentation of a directory and nothing else. */
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

  it('is immutable for browsers if its name has its hash or version, and is revalidated each time otherwise', async () => {
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

  it.each(['/docs', '/docs/quickstart', '/docs/reference', '/docs/client.tgz', '/v1/openapi.json'])(
    '%s is not sent again to a client that has it',
    async (path) => {
      const first = await ask(path);
      const etag = first.headers.get('etag')!;
      for (const [sent, status] of [
        [etag, 304],
        [etag.replace('W/', ''), 304],
        [`"other",${etag} , W/"third"`, 304],
        ['*', 304],
        ['"other"', 200],
        [etag.replaceAll('"', ''), 200],
        [',', 200],
        ['', 200],
      ] as const)
        for (const method of ['GET', 'HEAD']) {
          const since = { 'if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' };
          const reply = await ask(path, { 'if-none-match': sent, ...(status === 304 ? {} : since) }, method);
          expect([sent, method, reply.status]).toEqual([sent, method, status]);
          for (const name of ['etag', 'vary', 'cache-control'])
            expect(reply.headers.get(name)).toBe(first.headers.get(name));
          if (status === 304) expect([reply.text, reply.headers.get('content-length')]).toEqual(['', null]);
        }
    },
  );

  it.each([
    ['gzip', true],
    ['GZIP;q=0.5', true],
    ['br, deflate, gzip', true],
    ['*', true],
    ['identity;q=0, *;q=0.1', true],
    ['gzip;q=0', false],
    ['gzip;q=0, *', false],
    ['gzip;q=0.5, identity', false],
    ['br', false],
    ['xgzip', false],
    ['identity;q=0', false],
    ['*;q=0', false],
    ['', false],
  ])('is compressed for a client that prefers that: Accept-Encoding: %s', async (sent, isCompressed) => {
    for (const path of ['/docs/reference/scalar.js', '/docs/reference', '/v1/openapi.json', '/docs/client.tgz']) {
      const lines = [`GET ${path} HTTP/1.1`, 'Host: x', `Accept-Encoding: ${sent}`, 'Connection: close', '', ''];
      const { status, headers } = await sendRaw(listener.url, lines.join('\r\n'));
      expect([status, headers.vary]).toEqual([200, expect.stringContaining('Accept-Encoding')]);
      const encoding = isCompressed && !path.endsWith('.tgz') ? 'gzip' : undefined;
      expect([path, headers['content-encoding']]).toEqual([path, encoding]);
      if (path.endsWith('.js')) expect(Number(headers['content-length']) < script.length).toBe(isCompressed);
    }
  });

  it.each([
    ['text/markdown', 'quickstart.md'],
    ['Text/Markdown;charset=UTF-8, */*;q=0.1', 'quickstart.md'],
    ['text/html;q=0.8, text/markdown', 'quickstart.md'],
    ['text/markdown;q=0.5, text/html', 'quickstart.html'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'quickstart.html'],
    ['text/markdown;q=0, */*', 'quickstart.html'],
    ['*/*', 'quickstart.html'],
    ['application/json', 'quickstart.html'],
  ] as const)('that is a page is sent as Markdown to a client that prefers that: Accept: %s', async (accept, name) => {
    const { status, text, headers } = await ask('/docs/quickstart', { accept });
    expect([status, text, headers.get('vary')]).toEqual([200, built[name], 'Accept, Accept-Encoding']);
    const again = await ask('/docs/quickstart', { accept, 'if-none-match': headers.get('etag')! });
    expect([again.status, again.headers.get('vary')]).toEqual([304, 'Accept, Accept-Encoding']);
    expect((await ask('/docs', { accept })).text).toBe(built[name === 'quickstart.md' ? 'index.md' : 'index.html']);
    expect((await ask('/docs/concepts', { accept })).text).toBe(built['concepts/index.html']);
  });

  it('that is an archive downloads under its own name', async () => {
    const { headers } = await ask('/docs/client-python.tar.gz');
    expect(headers.get('content-disposition')).toBe('attachment; filename="client-python.tar.gz"');
    expect((await ask('/docs/quickstart')).headers.get('content-disposition')).toBeNull();
  });
});

describe('the policy of a page', () => {
  const policyAt = async (path: string) => (await ask(path)).headers.get('content-security-policy')!;

  it('allows scripts of the site and the inline scripts listed by the build, and nothing from other origins', async () => {
    const directives = (await policyAt('/docs')).split('; ');
    expect(directives).toContain("default-src 'self'");
    expect(directives).toContain("script-src 'self' 'wasm-unsafe-eval' 'sha256-abc='");
    expect(directives).toContain("style-src 'self'");
    expect(directives.filter((each) => /https?:|\*/.test(each))).toEqual([]);
  });

  it("has the page's nonce, which is new for each response, and is left out of a 304", async () => {
    const nonces = new Set<string>();
    for (const encoding of ['gzip', 'identity']) {
      const { text, headers } = await ask('/docs/reference', { 'accept-encoding': encoding });
      const [, nonce] = /content="([^"]+)"/.exec(text)!;
      expect(headers.get('content-security-policy')).toContain(`style-src 'self' 'nonce-${nonce}'`);
      nonces.add(nonce!);
    }
    expect([nonces.size, nonces.has('{csp-nonce}')]).toEqual([2, false]);
    const etag = (await ask('/docs/reference')).headers.get('etag')!;
    const kept = await ask('/docs/reference', { 'if-none-match': etag });
    expect([kept.status, kept.headers.get('content-security-policy')]).toEqual([304, null]);
  });
});

describe('a path that has no file', () => {
  it('redirects to the page of the same name', async () => {
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

  it('is 404, with a page for browsers and an envelope for other clients', async () => {
    const shown = await ask('/docs/none', { accept: 'text/html,*/*;q=0.8' });
    expect([shown.status, shown.text]).toEqual([404, built['404.html']]);
    const refused = await ask('/docs/none', { accept: '*/*' });
    expect([refused.status, refused.body.error.code]).toEqual([404, 'not_found']);
    expect(refused.headers.get('cache-control')).toBe('no-store');
    for (const { headers } of [shown, refused]) expect(headers.get('vary')).toBe('Accept, Accept-Encoding');
    expect((await ask('/docsx')).status).toBe(418);
  });

  it('reaches nothing outside the site, and no internal file of the build', async () => {
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

it('a path is read-only', async () => {
  for (const path of ['/docs', '/docs/quickstart', '/docs/none', '/llms.txt']) {
    const refused = await ask(path, {}, 'POST');
    expect([path, refused.status, refused.headers.get('allow')]).toEqual([path, 405, 'GET, HEAD, OPTIONS']);
    const options = await ask(path, {}, 'OPTIONS');
    expect([options.status, options.text, options.headers.get('allow')]).toEqual([204, '', 'GET, HEAD, OPTIONS']);
  }
});

it('a site that is not built is 503 with build instructions, while the document is served', async () => {
  const bare = await serve(join(directory, 'none'));
  try {
    for (const path of ['/docs', '/docs/quickstart', '/llms.txt']) {
      const { status, body } = await rawRequest(bare.url, 'GET', path);
      expect([path, status, body.error.code]).toEqual([path, 503, 'service_unavailable']);
      expect(body.error.message).toContain('npm run build');
    }
    expect((await rawRequest(bare.url, 'GET', '/v1/openapi.json')).status).toBe(200);
  } finally {
    await bare.close(0);
  }
});
