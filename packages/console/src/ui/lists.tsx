import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import { call, type Input, type Output, Refusal, type Route } from '../api.ts';

/** Routes of paged lists. */
type PagedRoute = { [R in Route]: Output<R> extends { data: unknown[]; next: string | null } ? R : never }[Route];
type ItemOf<R extends PagedRoute> = Output<R> extends { data: (infer Item)[] } ? Item : never;

/** Poll interval of lists and resources in milliseconds. */
const pollMs = 5_000;

/** The loaded entries of a list, and how to load more. */
export interface Listed<Item> {
  items: Item[];
  /** Services that did not reply. Their entries are missing. */
  gone: string[];
  isLoading: boolean;
  /** True once a load has succeeded, even if the last poll failed. */
  isLoaded: boolean;
  /** Time of the last load in milliseconds; 0 until the first. */
  loadedAt: number;
  error: Error | null;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
}

/** The fields of a query that `useLastError` needs. */
interface Failing {
  data: unknown;
  error: Error | null;
  failureReason: Error | null;
  isSuccess: boolean;
}

/**
 * Returns a query's error until the query succeeds. The query's own error disappears during a refetch without data and returns only after
 * the last retry, so a page would show "Loading" again and again. `key` identifies the query.
 */
export function useLastError(key: string, { data, error, failureReason, isSuccess }: Failing): Error | null {
  const [last, setLast] = useState<{ key: string; error: Error | null }>({ key, error: null });
  const current = error ?? (data === undefined ? failureReason : null);
  const kept = current ?? (isSuccess || last.key !== key ? null : last.error);
  if (kept !== last.error || key !== last.key) setLast({ key, error: kept });
  return kept;
}

/** Loads the first page of a list, and more on request. Polls all loaded pages. */
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
 * Loads a resource and polls it every `everyMs` milliseconds. With false, polls only until it is loaded or the error is final.
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

/** Returns whether an error is temporary: a service or the control plane did not respond. */
function isTemporary(error: Error | null): boolean {
  return error instanceof Refusal && (error.status === 0 || error.status >= 500);
}

/** Shows that data is loading, or why it could not be loaded. */
export function Loading({ isLoading, error }: { isLoading: boolean; error: Error | null }) {
  if (error) return <Failed error={error} />;
  return isLoading ? <p className="empty">Loading…</p> : null;
}

/** Shows `children` and why data could not be loaded. If a service did not respond, links to the services. */
export function Failed({ error, children }: { error: Error; children?: ReactNode }) {
  const message = error instanceof Refusal ? error.message : 'The data could not be loaded.';
  const isUnavailable = error instanceof Refusal && error.status === 503;
  return (
    <p className="notice bad" role="alert">
      {children}
      {isUnavailable ? `${message.replace(/\.$/, '')}. ` : message}
      {isUnavailable && (
        <>
          See <Link to="/services">Services</Link>; this page retries automatically.
        </>
      )}
    </p>
  );
}

/** Button that loads the next page of a list, if there is one. */
export function More({ list }: { list: Listed<unknown> }) {
  if (!list.hasMore) return null;
  return (
    <button type="button" className="more" onClick={list.loadMore} disabled={list.isLoadingMore}>
      {list.isLoadingMore ? 'Loading…' : 'More'}
    </button>
  );
}
