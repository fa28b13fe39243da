/** A page of a list. */
interface Page<Item> {
  data: Item[];
  has_more: boolean;
  next: string | null;
}

/** Reads all pages of a list, 100 entries at a time. Returns the entries, and the bytes of each page. */
export async function pagesOf<Item>(
  read: (query: { limit: number; starting_after?: string }) => Promise<Page<Item>>,
): Promise<{ data: Item[]; sizes: number[] }> {
  const data: Item[] = [];
  const sizes: number[] = [];
  for (let next: string | null | undefined; next !== null; ) {
    const page = await read({ limit: 100, ...(next === undefined ? {} : { starting_after: next }) });
    if (page.has_more !== (page.next !== null)) throw new Error('has_more and next of a page contradict each other');
    data.push(...page.data);
    sizes.push(Buffer.byteLength(JSON.stringify(page)));
    next = page.next;
  }
  return { data, sizes };
}
