import { existsSync, globSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { pathOf } from '@customer-platform/service-kit';
import { type StaticFile, sendStaticFile, staticFile } from '../../http/static-file.ts';

/** Directory into which packages/console is built. */
const distDirectory = join(import.meta.dirname, '../../../../packages/console/dist');

/** The page loads everything from this listener. Only the page's own requests send the token. */
const headers = {
  'Content-Security-Policy':
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
  'Referrer-Policy': 'no-referrer',
};

const contentTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const missingPage = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Console</title></head>
<body>
<h1>The console is not built</h1>
<p>Run <code>npm run build</code> in the repository, and start the gateway again.</p>
</body>
</html>
`;

/** A file of the console, with its cache policy for browsers. */
interface ConsoleFile extends StaticFile {
  cacheControl: string;
}

/**
 * Returns a function that serves the files of a directory and returns whether the request was for one of them. The root serves `index.html` with the
 * environment's name inserted. The files are read once, at the first request, so that no request path reaches the disk.
 */
export function consoleServer(environment: string, directory = distDirectory) {
  let files: Map<string, ConsoleFile> | undefined;
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false;
    files ??= readFiles(directory, environment);
    const file = files.get(pathOf(request));
    if (file) sendStaticFile(request, response, file, { ...headers, 'Cache-Control': file.cacheControl });
    return file !== undefined;
  };
}

function readFiles(directory: string, environment: string): Map<string, ConsoleFile> {
  if (!existsSync(join(directory, 'index.html'))) {
    return new Map([['/', fileOf('index.html', Buffer.from(missingPage))]]);
  }
  const names = globSync('**', { cwd: directory }).filter((name) => extname(name) in contentTypes);
  const files = new Map(names.map((name) => [`/${name}`, fileOf(name, readFileSync(join(directory, name)))]));
  files.delete('/index.html');
  const page = readFileSync(join(directory, 'index.html'), 'utf8');
  return files.set(
    '/',
    fileOf('index.html', Buffer.from(page.replace(environmentMeta(''), environmentMeta(environment)))),
  );
}

/** The tag with the environment's name. The setting allows no character that needs escaping. */
function environmentMeta(name: string): string {
  return `<meta name="environment" content="${name}">`;
}

function fileOf(name: string, bytes: Buffer): ConsoleFile {
  return {
    ...staticFile(contentTypes[extname(name)]!, bytes),
    // The names of assets contain a hash of their content. The page that names them is revalidated each time.
    cacheControl: name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
  };
}
