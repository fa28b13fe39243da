import { type ApiCall, apiCall, type ListCall, type Outcome } from './call.ts';

/**
 * Iterates over all entries of a list: `eachOf((page) => client.cdp.contacts.list({ query: { tag: 'vip', ...page } }))`.
 * Most callers need no function: `for await (const contact of client.cdp.contacts.list({ query: { tag: 'vip' } }))`.
 * Rejects with the error of the page request that fails.
 */
export async function* eachOf<Item>(
  list: (page: { starting_after?: string }) => Promise<{ data: Item[]; next: string | null }>,
): AsyncGenerator<Item, void, undefined> {
  let next: string | null = null;
  do {
    const page: { data: Item[]; next: string | null } = await list(next === null ? {} : { starting_after: next });
    yield* page.data;
    next = page.next;
  } while (next !== null);
}

/** Returns a list call. `request` sends the query with the given paging parameters added. */
export function listCall(
  query: Record<string, unknown> = {},
  request: (page: Record<string, unknown>) => Promise<Outcome>,
): ListCall<unknown> {
  const first = apiCall(request({})) as ApiCall<never>;
  // A list of events that starts after a sequence pages by sequence.
  const cursor = query.after_sequence === undefined ? 'starting_after' : 'after_sequence';
  const entries = () =>
    eachOf<unknown>(({ starting_after: next }) => {
      return next === undefined ? first : (apiCall(request({ [cursor]: next })) as ApiCall<never>);
    });
  return Object.assign(first, { [Symbol.asyncIterator]: entries });
}
