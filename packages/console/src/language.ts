/**
 * Words for work that is not done, each with the one thing that it means here. A page that shows one explains it in a tooltip, and the
 * keyboard's help lists all.
 */
export const words = {
  ready: 'Due now: runs as soon as a process takes it.',
  running: 'Taken by a process that works on it.',
  waiting: 'Due later, at its own time or for its next try.',
  retrying: 'Its last try failed, and it waits for the next. Part of what is waiting.',
  failing: 'Every try since the last success failed, and tries go on.',
  failed: 'Ended without success. Nothing tries it again unless somebody asks for it.',
  dead: 'An event that no consumer could take in its tries. It is kept for 30 days.',
  lag: 'Age of the oldest entry that is ready.',
  refused: 'Got a 4xx response: the caller has to change something. 404 is left out where shares are shown.',
  limited: 'Refused with 429: beyond the rate limit of its key.',
  unknown: 'Cannot be asked while the bus does not respond; it may be well.',
  gone: 'No process of it replied within 1 s.',
} as const;

export type Word = keyof typeof words;
