import type { Me } from '../../generated/types.ts';
import { attempt } from '../../requests/attempt.ts';
import { addressOf, type ClientOptions, send } from '../../requests/send.ts';
import { type ApiDocument, type Operation, operationsOf } from './document.ts';

/** What a platform offers to a key. */
export interface Api {
  document: ApiDocument;
  operations: Operation[];
  /** Pages of the documentation; none where the platform serves none. */
  guides: Guide[];
  me: Me;
}

/** A page of the documentation. */
export interface Guide {
  /** Its name in addresses, such as `webhooks`. */
  page: string;
  title: string;
  description: string;
}

/** Milliseconds after which the document is read again: a platform gets releases while an assistant runs. */
const maxAgeMs = 600_000;
/** Milliseconds until a page must be there. */
const pageTimeoutMs = 30_000;

/** Returns a function that returns the API, read when it is first needed and every ten minutes. It throws a RequestError. */
export function apiReader(client: ClientOptions): (signal: AbortSignal) => Promise<Api> {
  let known: { api: Api; readAt: number } | undefined;
  return async (signal) => {
    if (known === undefined || Date.now() - known.readAt > maxAgeMs)
      known = { api: await readApi(client, signal), readAt: Date.now() };
    return known.api;
  };
}

async function readApi(client: ClientOptions, signal: AbortSignal): Promise<Api> {
  const read = async <Body>(path: string) => (await send(client, { method: 'GET', path }, { signal })).data as Body;
  const [document, me, index] = await Promise.all([
    read<ApiDocument>('/v1/openapi.json'),
    read<Me>('/v1/me'),
    readPage(client, '/llms.txt', signal),
  ]);
  return { document, operations: operationsOf(document), guides: guidesOf(index ?? ''), me };
}

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
function guidesOf(index: string): Guide[] {
  return index.split('\n').flatMap((line) => {
    const [, title, address = '', description = ''] = /^- \[([^\]]+)\]\(([^)]+)\)(?:: (.*))?$/.exec(line) ?? [];
    const page = /\/docs\/([\w-]+)\.md$/.exec(address)?.[1];
    return title && page ? [{ page, title, description }] : [];
  });
}
