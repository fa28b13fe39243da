import type { Page } from '../call.ts';
import { eachOf } from '../pages.ts';
import type { CommandCall } from './command.ts';

/** Entries per page: the API's maximum. */
export const pageLimit = 100;

/** Returns all entries of a list in memory. Use it only for short lists. */
export async function allEntries<Entry>(call: CommandCall, path: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  const list = (page: object) =>
    call.send<Page<Entry>>({ method: 'GET', path }, { query: { limit: pageLimit, ...page } });
  for await (const entry of eachOf(list)) entries.push(entry);
  return entries;
}
