import { useSyncExternalStore } from 'react';
import { duration, relativeTime } from './format.ts';

/** Time by which the page goes, renewed each second for all who show it. */
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The current time in milliseconds, renewed each second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** Returns a time to the second in the browser's zone, with its offset. */
export function exactTime(at: string | number): string {
  return new Date(at).toLocaleString('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'long',
  });
}

/** A time relative to now, with the exact one as its title; a dash where there is none. */
export function Time({ at }: { at: string | null | undefined }) {
  const current = useNow();
  if (!at) return <span className="none">–</span>;
  return (
    <time dateTime={at} title={exactTime(at)}>
      {relativeTime(Date.parse(at), current)}
    </time>
  );
}

/** Returns a time by the clock, with its date unless that is today's. */
function clockOf(at: string, now: number, timeStyle: 'short' | 'medium'): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  return new Date(at).toLocaleString('en-GB', { timeStyle, ...(isToday ? {} : { dateStyle: 'medium' }) });
}

/** A time relative to now and by the clock, `1 min ago (23:48:20)`; with its date unless that is today's. */
export function RelativeAndClock({ at }: { at: string }) {
  return (
    <>
      <Time at={at} /> ({clockOf(at, useNow(), 'medium')})
    </>
  );
}

/** Age of something that was just loaded, `2 s ago`; `at` in milliseconds. */
export function Age({ at }: { at: number }) {
  const current = useNow();
  return relativeTime(Math.min(at, current), current);
}

/** Time that has passed since a time, with that as its title; a dash where there is none. */
export function Elapsed({ since }: { since: string | null | undefined }) {
  const current = useNow();
  if (!since) return <span className="none">–</span>;
  return (
    <time dateTime={since} title={`Since ${exactTime(since)}`}>
      {duration((current - Date.parse(since)) / 1_000)}
    </time>
  );
}

/** When something began and the time that has passed since, `19:40 (12 min)`. */
export function ClockAndElapsed({ since }: { since: string }) {
  return (
    <>
      {clockOf(since, useNow(), 'short')} (<Elapsed since={since} />)
    </>
  );
}

/** A time of today to the second, `23:48:20`, with the exact one as its title. */
export function ClockTime({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={exactTime(at)}>
      {new Date(at).toLocaleTimeString('en-GB')}
    </time>
  );
}
