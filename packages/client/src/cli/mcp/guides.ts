import { attempt } from '../../requests/attempt.ts';
import { addressOf, type ClientOptions } from '../../requests/send.ts';

/** A page of the documentation. */
export interface Guide {
  /** The page's name in URLs, such as `webhooks`. */
  page: string;
  title: string;
  description: string;
}

/** A heading of a guide and the text below it. */
export interface Section {
  guide: Guide;
  heading: string;
  /** Number of characters of the page before the heading. */
  offset: number;
  text: string;
}

/** Milliseconds until a page must be complete. */
const pageTimeoutMs = 30_000;
/** Search the text of at most this many guides. */
const mostGuides = 50;
/** Most characters of a searched guide. A longer page is the reference, whose operations are searched separately. */
const mostCharacters = 64_000;

/** Returns a page of the documentation as Markdown; undefined if it does not exist. Throws a RequestError. */
export async function readPage(client: ClientOptions, path: string, signal: AbortSignal): Promise<string | undefined> {
  const request = { url: addressOf(client.baseUrl, path), method: 'GET', headers: new Headers() };
  const { response, text } = await attempt(request, {
    fetch: client.fetch ?? fetch,
    timeoutMs: pageTimeoutMs,
    signal,
  });
  return response.ok ? text : undefined;
}

/** Returns the guides that an llms.txt lists. Its lines are `- [Title](/docs/page.md): description`. */
export function guidesOf(index: string): Guide[] {
  return index.split('\n').flatMap((line) => {
    const [, title, address = '', description = ''] = /^- \[([^\]]+)\]\(([^)]+)\)(?:: (.*))?$/.exec(line) ?? [];
    const page = /\/docs\/([\w-]+)\.md$/.exec(address)?.[1];
    return title && page ? [{ page, title, description }] : [];
  });
}

/** Returns the sections of the guides, in order. A guide that is too long has one section without text. Throws a RequestError. */
export async function readSections(
  client: ClientOptions,
  guides: readonly Guide[],
  signal: AbortSignal,
): Promise<Section[]> {
  const read = guides.slice(0, mostGuides).map(async (guide) => {
    const text = (await readPage(client, `/docs/${guide.page}.md`, signal)) ?? '';
    return sectionsOf(guide, text.length > mostCharacters ? '' : text);
  });
  return (await Promise.all(read)).flat();
}

function sectionsOf(guide: Guide, text: string): Section[] {
  const sections: Section[] = [{ guide, heading: guide.title, offset: 0, text: '' }];
  let [offset, isCode] = [0, false];
  for (const line of text.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode;
    const heading = isCode ? undefined : /^##+ (.+)$/.exec(line)?.[1];
    if (heading !== undefined) sections.push({ guide, heading, offset, text: '' });
    else sections.at(-1)!.text += `${line}\n`;
    offset += line.length + 1;
  }
  return sections;
}
