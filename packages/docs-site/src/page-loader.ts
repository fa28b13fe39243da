import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Loader } from 'astro/loaders';
import { groups, referencePage, siteTitle } from './manifest.ts';
import { bodyFor, docs, type Page, pageBehind, pathOf, readPages, whereOf } from './pages.ts';
import { referenceHead } from './reference/head.ts';

/** Empty corner cell of a table with row headings. Becomes a data cell, because an empty header confuses screen readers. */
const emptyHeader = /<th([^<>]*)><\/th>/g;

/** Loads the listed pages into Starlight. Throws if a link leads to a heading that its page does not have. */
export function pageLoader(): Loader {
  return {
    name: 'listed-pages',
    async load({ store, parseData, renderMarkdown }) {
      store.clear();
      const pages = readPages();
      const anchors = new Map<string, Set<string>>();
      for (const page of pages) {
        const body = bodyFor(page, '');
        const rendered = await renderMarkdown(body, { fileURL: pathToFileURL(join(docs, page.file)) });
        anchors.set(page.file, new Set(rendered.metadata?.headings?.map(({ slug }) => slug)));
        rendered.html = rendered.html.replaceAll(emptyHeader, '<td$1></td>');
        if (page.file === referencePage.file) rendered.html = `<div id="api">${rendered.html}</div>`;
        const data = await parseData({ id: page.slug, data: dataOf(page) });
        store.set({ id: page.slug, data, body, rendered });
      }
      const body = notFoundBody();
      const data = await parseData({
        id: '404',
        data: { title: 'Page not found', pagefind: false, tableOfContents: false },
      });
      store.set({ id: '404', data, body, rendered: await renderMarkdown(body) });
      const faults = pages.flatMap((page) => faultsOf(page, anchors));
      if (faults.length > 0) throw new Error(`Links to headings that do not exist:\n${faults.join('\n')}`);
    },
  };
}

/** Returns the body of the 404 page: links to the first pages and to the reference. */
function notFoundBody(): string {
  const links = [...groups[0]!.pages, referencePage].map(
    ({ file, title, summary }) => `- [${title}](${pathOf(file)}): ${summary}`,
  );
  return `There is no page at this address. Search above, or continue here:\n\n${links.join('\n')}\n`;
}

/** Returns a page's front matter for Starlight. */
function dataOf({ file, heading, summary, keywords }: Page): Record<string, unknown> {
  const isReference = file === referencePage.file;
  const known = keywords
    ? [{ tag: 'meta', attrs: { 'data-pagefind-meta': 'keywords[content]', name: 'keywords', content: keywords } }]
    : [];
  return {
    title: heading,
    description: summary,
    head: isReference ? [...known, ...referenceHead] : known,
    ...(isReference && { tableOfContents: false, pagefind: false }),
    // The heading of the home page is the site's name.
    ...(file === 'index.md' && { tableOfContents: false, head: [...known, { tag: 'title', content: siteTitle }] }),
  };
}

/** Returns a sentence for each link of a page to a heading that its target does not have. */
function faultsOf(page: Page, anchors: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return page.links.flatMap((link) => {
    const target = pageBehind(page, link);
    if (link.hash === '' || target === undefined || anchors.get(target)!.has(link.hash.slice(1))) return [];
    return [`${whereOf(page, link)}: docs/${target} has no heading for ${link.hash}`];
  });
}
