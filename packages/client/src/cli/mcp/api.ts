import type { Me } from '../../generated/types.ts';
import { type ClientOptions, send } from '../../requests/send.ts';
import { type ApiDocument, type Operation, operationsOf } from './document.ts';
import { type Guide, guidesOf, readPage, readSections, type Section } from './guides.ts';

/** The API as a key sees it. */
export interface Api {
  document: ApiDocument;
  operations: Operation[];
  /** Pages of the documentation; empty if the platform serves none. */
  guides: Guide[];
  /** Returns the sections of the guides, fetched on first use. Throws a RequestError. */
  sections(signal: AbortSignal): Promise<readonly Section[]>;
  me: Me;
}

/** Milliseconds after which the API document is fetched again, since the platform may be upgraded while an assistant runs. */
const maxAgeMs = 600_000;
/** Returns a function that returns the API. It fetches the API on first use and again every ten minutes, and throws a RequestError. */
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
  const guides = guidesOf(index ?? '');
  let known: Section[] | undefined;
  const sections = async (each: AbortSignal) => (known ??= await readSections(client, guides, each));
  return { document, operations: operationsOf(document), guides, sections, me };
}
