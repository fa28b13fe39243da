import { attempt } from '../../requests/attempt.ts';
import { addressOf, type ClientOptions } from '../../requests/send.ts';

/** A page of the documentation. */
export interface Guide {
  /** Its name in addresses, such as `webhooks`. */
  page: string;
  title: string;
  description: string;
}

/** What stands below a heading of a guide. */
export interface Section {
  guide: Guide;
  heading: string;
  /** Characters of the page before its heading. */
  offset: number;
  text: string;
}

/** Milliseconds until a page must be there. */
const pageTimeoutMs = 30_000;
/** Most guides whose text is searched. */
const mostGuides = 50;
/** Most characters of such a guide. A longer one is the reference, whose operations are searched themselves. */
const mostCharacters = 64_000;

/** Returns a page of the documentation as Markdown; undefined if there is none. Throws a RequestError. */
export async function readPage(client: ClientOptions, path: string, signal: AbortSignal): Promise<string | undefined> {
  const request = { url: addressOf(client.baseUrl, path), method: 'GET', headers: new Headers() };
  const { response, text } = await attempt(request, {
    fetch: client.fetch ?? fetch,
    timeoutMs: pageTimeoutMs,
    signal,
  });
  return response.ok ? text : undefined;
}

/** Returns the guides that an llms.txt lists, as `- [Title](/docs/page.md): description`. */
export function guidesOf(index: string): Guide[] {
  return index.split('\n').flatMap((line) => {
    const [, title, address = '', description = ''] = /^- \[([^\]]+)\]\(([^)]+)\)(?:: (.*))?$/.exec(line) ?? [];
    const page = /\/docs\/([\w-]+)\.md$/.exec(address)?.[1];
    return title && page ? [{ page, title, description }] : [];
  });
}

/** Returns the sections of the guides, in their order; one with its description alone of a guide that is too long. Throws a RequestError. */
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
