import { existsSync, globSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { pathOf } from '@customer-platform/service-kit';
import { type StaticFile, sendStaticFile, staticFile } from '../../http/static-file.ts';

/** Directory into which packages/console is built. */
const distDirectory = join(import.meta.dirname, '../../../../packages/console/dist');

/** The page and all that it loads come from this listener; its token is sent by its own requests alone. */
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

/** A file of the console, and how long browsers keep it. */
interface ConsoleFile extends StaticFile {
  cacheControl: string;
}

/**
 * Returns a function that serves the files of a directory, `index.html` at the root with the environment's name in it, and returns whether
 * the request was for one of them. They are read once, at the first request, so that no path of a request reaches the disk.
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

/** The place of the environment's name in the page: its setting allows no character that would have to be escaped. */
function environmentMeta(name: string): string {
  return `<meta name="environment" content="${name}">`;
}

function fileOf(name: string, bytes: Buffer): ConsoleFile {
  return {
    ...staticFile(contentTypes[extname(name)]!, bytes),
    // The names of assets have a hash of their content; the page that names them is asked for each time.
    cacheControl: name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
  };
}
