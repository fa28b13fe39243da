/**
 * Iterates over all entries of a list, page by page: `for await (const contact of eachOf((page) => client.listContacts({ query: page })))`.
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
