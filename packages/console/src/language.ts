/**
 * Terms for unfinished work, each with its meaning in the console. Pages show the meaning in a tooltip, and the keyboard help lists all
 * terms.
 */
export const words = {
  ready: 'Due now. Runs as soon as a process claims it.',
  running: 'Claimed by a process that works on it.',
  waiting: 'Due later: scheduled, or waiting for its next attempt.',
  retrying: 'The last attempt failed, and the next one is scheduled. Counts as waiting too.',
  failing: 'Every attempt since the last success failed. Attempts continue.',
  failed: 'Ended without success. It is not retried unless somebody requests it.',
  dead: 'An event whose consumer failed in all attempts. It is kept for 30 days.',
  lag: 'Age of the oldest ready entry.',
  refused: 'Got a 4xx response, so the caller must change something. Shares do not count 404.',
  limited: 'Refused with 429, since the key exceeded its rate limit.',
  unknown: 'Its state is unknown while the bus does not respond. It may be fine.',
  gone: 'None of its processes replied within 1 s.',
} as const;

export type Word = keyof typeof words;
