import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { call, type Input, type Output, Refusal, type Route } from '../api.ts';

/** Routes that list pages with cursors. */
type PagedRoute = { [R in Route]: Output<R> extends { data: unknown[]; next: string | null } ? R : never }[Route];
type ItemOf<R extends PagedRoute> = Output<R> extends { data: (infer Item)[] } ? Item : never;

/** Poll interval of lists and resources in milliseconds. */
const pollMs = 5_000;

/** Entries of a list so far, and how to get more. */
export interface Listed<Item> {
  items: Item[];
  /** Services that did not reply, so that nothing of theirs is among the entries. */
  gone: string[];
  isLoading: boolean;
  error: Error | null;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
}

/** Loads the first page of a list, and as many more as are asked for; polls all of them. */
export function useList<R extends PagedRoute>(route: R, input: Input<R> = {}): Listed<ItemOf<R>> {
  const query = useInfiniteQuery({
    queryKey: [route, input.params, input.query],
    queryFn: async ({ pageParam, signal }) => {
      const page = {
        ...(input.query as object | undefined),
        ...(pageParam === null ? {} : { starting_after: pageParam }),
      };
      return (await call(route, { ...input, query: page, signal } as Input<R>)) as {
        data: ItemOf<R>[];
        next: string | null;
        gone?: string[];
      };
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    refetchInterval: pollMs,
  });
  const items = useMemo(() => query.data?.pages.flatMap((page) => page.data) ?? [], [query.data]);
  return {
    items,
    gone: query.data?.pages[0]?.gone ?? [],
    isLoading: query.isLoading,
    error: query.error,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => void query.fetchNextPage(),
  };
}

/** Loads one resource and polls it, every five seconds unless `everyMs` says otherwise; false: once. */
export function useResource<R extends Route>(route: R, input: Input<R> = {}, everyMs: number | false = pollMs) {
  return useQuery({
    queryKey: [route, input.params, input.query],
    queryFn: ({ signal }) => call(route, { ...input, signal }),
    refetchInterval: everyMs,
  });
}

/** Says that something loads, or why it cannot; nothing else. */
export function Loading({ isLoading, error }: { isLoading: boolean; error: Error | null }) {
  if (error) {
    return (
      <p className="notice bad" role="alert">
        {error instanceof Refusal ? error.message : 'This could not be loaded.'}
      </p>
    );
  }
  return isLoading ? <p className="empty">Loading…</p> : null;
}

/** Button that loads the next page of a list, where there is one. */
export function More({ list }: { list: Listed<unknown> }) {
  if (!list.hasMore) return null;
  return (
    <button type="button" className="more" onClick={list.loadMore} disabled={list.isLoadingMore}>
      {list.isLoadingMore ? 'Loading…' : 'More'}
    </button>
  );
}
