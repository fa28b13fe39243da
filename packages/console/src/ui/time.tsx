import { useSyncExternalStore } from 'react';
import { duration, relativeTime } from './format.ts';

/** The current time, updated each second for all components that show it. */
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

/** Returns the current time in milliseconds, updated each second. */
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

/** A time relative to now, with the exact time as its title; a dash if there is none. */
export function Time({ at }: { at: string | null | undefined }) {
  const current = useNow();
  if (!at) return <span className="none">–</span>;
  return (
    <time dateTime={at} title={exactTime(at)}>
      {relativeTime(Date.parse(at), current)}
    </time>
  );
}

/** Returns a time of day, with the date unless it is today. */
function clockOf(at: string, now: number, timeStyle: 'short' | 'medium'): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  return new Date(at).toLocaleString('en-GB', { timeStyle, ...(isToday ? {} : { dateStyle: 'medium' }) });
}

/** A time relative to now and as a time of day: `1 min ago (23:48:20)`. Includes the date unless it is today. */
export function RelativeAndClock({ at }: { at: string }) {
  return (
    <>
      <Time at={at} /> ({clockOf(at, useNow(), 'medium')})
    </>
  );
}

/** The age of loaded data, such as `2 s ago`. `at` is in milliseconds. */
export function Age({ at }: { at: number }) {
  const current = useNow();
  return relativeTime(Math.min(at, current), current);
}

/** The time since `since`, with the exact time as its title; a dash if there is none. */
export function Elapsed({ since }: { since: string | null | undefined }) {
  const current = useNow();
  if (!since) return <span className="none">–</span>;
  return (
    <time dateTime={since} title={`Since ${exactTime(since)}`}>
      {duration((current - Date.parse(since)) / 1_000)}
    </time>
  );
}

/** A start time and the time since then: `19:40 (12 min)`. */
export function ClockAndElapsed({ since }: { since: string }) {
  return (
    <>
      {clockOf(since, useNow(), 'short')} (<Elapsed since={since} />)
    </>
  );
}

/** A time of day with seconds, such as `23:48:20`, with the exact time as its title. */
export function ClockTime({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={exactTime(at)}>
      {new Date(at).toLocaleTimeString('en-GB')}
    </time>
  );
}
