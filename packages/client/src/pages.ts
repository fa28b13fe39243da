import { type ApiCall, apiCall, type ListCall, type Outcome } from './call.ts';

/**
 * Iterates over all entries of a list whose pages you request: `eachOf((page) => client.cdp.contacts.list({ query: { tag: 'vip', ...page } }))`.
 * The list itself does the same without a function: `for await (const contact of client.cdp.contacts.list({ query: { tag: 'vip' } }))`.
 * Rejects with what a page's request rejects with.
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

/** Returns a call for a list, which `request` sends with more parameters for its query. */
export function listCall(
  query: Record<string, unknown> = {},
  request: (page: Record<string, unknown>) => Promise<Outcome>,
): ListCall<unknown> {
  const first = apiCall(request({})) as ApiCall<never>;
  // Events after a sequence go on after the sequence of the last one.
  const cursor = query.after_sequence === undefined ? 'starting_after' : 'after_sequence';
  const entries = () =>
    eachOf<unknown>(({ starting_after: next }) => {
      return next === undefined ? first : (apiCall(request({ [cursor]: next })) as ApiCall<never>);
    });
  return Object.assign(first, { [Symbol.asyncIterator]: entries });
}
