import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
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
  /** True once there are entries to show, be it that the last poll failed. */
  isLoaded: boolean;
  /** Time of the last load in milliseconds; 0 until the first. */
  loadedAt: number;
  error: Error | null;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
}

/** A query, as far as its error depends on it. */
interface Failing {
  data: unknown;
  error: Error | null;
  failureReason: Error | null;
  isSuccess: boolean;
}

/**
 * The error of a query until it succeeds. The query's own is gone while it is tried again without data, and comes only after its last retry:
 * a page would say that it loads over and over, where it has a refusal to show. `key` tells queries apart.
 */
export function useLastError(key: string, { data, error, failureReason, isSuccess }: Failing): Error | null {
  const [last, setLast] = useState<{ key: string; error: Error | null }>({ key, error: null });
  const current = error ?? (data === undefined ? failureReason : null);
  const kept = current ?? (isSuccess || last.key !== key ? null : last.error);
  if (kept !== last.error || key !== last.key) setLast({ key, error: kept });
  return kept;
}

/** Loads the first page of a list, and as many more as are asked for; polls all of them. */
export function useList<R extends PagedRoute>(route: R, input: Input<R> = {}): Listed<ItemOf<R>> {
  const queryKey = [route, input.params, input.query];
  const query = useInfiniteQuery({
    queryKey,
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
  const error = useLastError(JSON.stringify(queryKey), query);
  const items = useMemo(() => query.data?.pages.flatMap((page) => page.data) ?? [], [query.data]);
  return {
    items,
    gone: query.data?.pages[0]?.gone ?? [],
    isLoading: query.isLoading,
    isLoaded: query.data !== undefined,
    loadedAt: query.dataUpdatedAt,
    error,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => void query.fetchNextPage(),
  };
}

/**
 * Loads one resource and polls it, every five seconds unless `everyMs` says otherwise; false: until it is there or refused for good.
 */
export function useResource<R extends Route>(route: R, input: Input<R> = {}, everyMs: number | false = pollMs) {
  const queryKey = [route, input.params, input.query];
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) => call(route, { ...input, signal }),
    refetchInterval: ({ state }) => everyMs || (isTemporary(state.error) && pollMs),
  });
  const error = useLastError(JSON.stringify(queryKey), query);
  return { data: query.data, isLoading: query.isLoading, error, loadedAt: query.dataUpdatedAt };
}

/** Returns whether an error may be over at the next try: a service or the control plane did not respond. */
function isTemporary(error: Error | null): boolean {
  return error instanceof Refusal && (error.status === 0 || error.status >= 500);
}

/** Says that something loads, or why it cannot; nothing else. */
export function Loading({ isLoading, error }: { isLoading: boolean; error: Error | null }) {
  if (error) return <Failed error={error} />;
  return isLoading ? <p className="empty">Loading…</p> : null;
}

/** Says why something cannot be loaded, after `children`; where a service did not respond, with a link to the services. */
export function Failed({ error, children }: { error: Error; children?: ReactNode }) {
  const message = error instanceof Refusal ? error.message : 'This could not be loaded.';
  const isUnavailable = error instanceof Refusal && error.status === 503;
  return (
    <p className="notice bad" role="alert">
      {children}
      {isUnavailable ? `${message.replace(/\.$/, '')}. ` : message}
      {isUnavailable && (
        <>
          See <Link to="/services">Services</Link>; this page goes on trying.
        </>
      )}
    </p>
  );
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
