import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { listenAndTell } from './listen.ts';

// A website: /page/1 and on are pages of about 20 kB; below /hostile/ are hostile pages.
const sentence =
  'The shop delivers what was ordered before noon on the same day, and asks nobody to wait at home for it. ';
const linkCount = 10_000;
const bombBytes = 200 * 1_048_576;
const dripMs = 1_000;

const html = (title: string, body: string) =>
  `<!doctype html><html><head><title>${title}</title></head><body><article><h1>${title}</h1>${body}</article></body></html>`;
const pageOf = (number: string) =>
  html(
    `Page ${number}`,
    Array.from({ length: 10 }, (_, part) => `<h2>Part ${part}</h2>${`<p>${sentence.repeat(6)}</p>`.repeat(3)}`).join(
      '',
    ),
  );
const bomb = gzipSync(Buffer.alloc(bombBytes, 'a'), { level: 9 });

const hostile: Record<string, (response: ServerResponse) => void> = {
  endless(response) {
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  },
  private: (response) => response.writeHead(302, { location: 'http://10.0.0.1/' }).end(),
  links: (response) =>
    response.end(html('', Array.from({ length: linkCount }, (_, link) => `<a href="/page/${link}"></a>`).join(''))),
  bomb: (response) => response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }).end(bomb),
  deep: (response) => response.end(html('', '<div>'.repeat(200_000))),
  drip(response) {
    response.write('<!doctype html>');
    const timer = setInterval(() => response.write(' '), dripMs);
    response.on('close', () => clearInterval(timer));
  },
};

listenAndTell((request, response) => {
  const [, folder = '', name = ''] = (request.url ?? '').split('/');
  response.setHeader('content-type', 'text/html; charset=utf-8');
  if (folder === 'page') response.end(pageOf(name));
  else if (folder === 'hostile' && hostile[name]) hostile[name](response);
  else response.writeHead(404).end();
});
