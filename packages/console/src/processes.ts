import type { LiveProcess } from '@customer-platform/contracts/accounts';
import { isBusGone } from '@customer-platform/contracts/operators';
import { useQuery } from '@tanstack/react-query';
import { call } from './api.ts';

/**
 * A process as it was seen last. It is gone where its service has no process any more, and unknown where the bus does not respond: then
 * nobody can be asked, and it may be well.
 */
export type SeenProcess = LiveProcess & { seen_at: number; state: 'live' | 'gone' | 'unknown' };

/** Poll interval of processes in milliseconds, whatever page is open: where one ran is known only if it was asked while it lived. */
export const processPollMs = 5_000;

const queryKey = ['GET /admin/services'];

/**
 * Every live process, and those that services had when they were last seen, for as long as the console is open: where a service ran says
 * where to look for what ended it. Polled every `everyMs`.
 */
export function useProcesses(everyMs: number) {
  return useQuery({
    queryKey,
    queryFn: async ({ client, signal }) => {
      const { data, gone } = await call('GET /admin/services', { signal });
      const now = Date.now();
      const before = client.getQueryData<{ data: SeenProcess[] }>(queryKey)?.data ?? [];
      const state = isBusGone(gone) ? ('unknown' as const) : ('gone' as const);
      const lost = before.filter(({ service }) => gone.includes(service)).map((one) => ({ ...one, state }));
      const seen = data.map((one): SeenProcess => ({ ...one, seen_at: now, state: 'live' }));
      return { data: [...lost, ...seen], gone };
    },
    refetchInterval: everyMs,
  });
}
