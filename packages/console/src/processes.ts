import type { LiveProcess } from '@customer-platform/contracts/accounts';
import { isBusGone } from '@customer-platform/contracts/operators';
import { useQuery } from '@tanstack/react-query';
import { call } from './api.ts';

/**
 * The last known state of a process. It is gone if its service has no process left. It is unknown if the bus does not respond, since then
 * the process may be fine.
 */
export type SeenProcess = LiveProcess & { seen_at: number; state: 'live' | 'gone' | 'unknown' };

/** Poll interval of processes in milliseconds on all pages, since a process's host is known only from polls while it was running. */
export const processPollMs = 5_000;

const queryKey = ['GET /admin/services'];

/**
 * Returns all live processes, and the last known processes of gone services while the console is open. Their hosts have the logs.
 * Polls every `everyMs` milliseconds.
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
