import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readDocument } from './api-document.ts';
import { writeReference } from './api-reference.ts';
import { type Link, linksOf, withLinks } from './links.ts';
import { base, elsewhere, guides, type ListedPage, referencePage } from './manifest.ts';

/** Root of the repository. */
export const root = join(import.meta.dirname, '../../..');

/** Folder of the pages' sources. */
export const docs = join(root, 'docs');

/** Page with its Markdown and its links. */
export interface Page extends ListedPage {
  /** Path of the page below the site's path; `index` for the home page. */
  slug: string;
  /** Text of the first heading. */
  heading: string;
  /** Markdown below the first heading, unchanged. */
  body: string;
  links: readonly Link[];
}

/**
 * Returns the listed pages of a folder, and the reference. Throws an Error that names all missing pages, or all links that lead
 * nowhere.
 */
export function readPages(folder = docs): Page[] {
  const missing = guides.filter(({ file }) => !existsSync(join(folder, file)));
  if (missing.length > 0) {
    const files = missing.map(({ file }) => `docs/${file}`).join(', ');
    throw new Error(`Missing pages: ${files}. Write them, or remove them from packages/docs-site/src/manifest.ts.`);
  }
  const pages = guides.map((page) => pageOf(page, readFileSync(join(folder, page.file), 'utf8')));
  pages.push(pageOf(referencePage, writeReference(readDocument())));
  const faults = pages.flatMap((page) => faultsOf(page));
  if (faults.length > 0) throw new Error(`Links that lead nowhere on the site:\n${faults.join('\n')}`);
  return pages;
}

function pageOf(listed: ListedPage, source: string): Page {
  const [, heading] = /^# (.+)\n/.exec(source) ?? [];
  if (heading === undefined) throw new Error(`docs/${listed.file}:1: the first line must be a heading, "# …"`);
  const body = source.slice(source.indexOf('\n') + 1);
  return { ...listed, slug: listed.file.replace(/\.md$/, ''), heading, body, links: linksOf(body) };
}

/** Returns a sentence for each relative link of a page that leads neither to a page nor to a picture. */
function faultsOf(page: Page): string[] {
  return page.links
    .filter(({ file }) => file !== '' && addressOf(file, '') === undefined)
    .map((link) => `${whereOf(page, link)}: ${link.target} must be a page of the site or a picture in docs/images`);
}

/** Returns the position of a link in the sources. The body begins on line 2. */
export const whereOf = ({ file }: Page, { line }: Link) => `docs/${file}:${line + 1}`;

/** Returns the file of a link's target page, which for `#…` is the page itself; undefined if the target is not a page. */
export function pageBehind(page: Page, { file }: Link): string | undefined {
  const target = elsewhere[file] ?? file;
  return file === '' ? page.file : isPage(target) ? target : undefined;
}

/** Returns the body with links that work on the site. With the suffix `.md` links lead to Markdown pages. */
export function bodyFor(page: Page, suffix: '' | '.md'): string {
  return withLinks(page.body, (link) =>
    link.file === '' ? link.target : `${addressOf(link.file, suffix)}${link.hash}`,
  );
}

const isPage = (file: string) => file === referencePage.file || guides.some((page) => page.file === file);

/** Returns the path of a page's file on the public port. */
export function pathOf(file: string, suffix: '' | '.md' = ''): string {
  if (file === 'index.md' && suffix === '') return base;
  return `${base}/${file.replace(/\.md$/, suffix)}`;
}

/** Returns the path of a relative link's target; undefined if the site does not have it. */
function addressOf(file: string, suffix: '' | '.md'): string | undefined {
  const target = elsewhere[file] ?? file;
  if (target.startsWith('/')) return target;
  if (isPage(target)) return pathOf(target, suffix);
  return /^images\/[\w-]+\.svg$/.test(target) && existsSync(join(docs, target)) ? `${base}/${target}` : undefined;
}
