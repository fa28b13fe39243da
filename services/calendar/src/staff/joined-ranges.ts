type LocalRange = [string, string];

/** Sorts the opening hours of each weekday or date and merges overlapping ranges. Keeps null and undefined. */
export function withJoinedRanges<Days extends Record<string, LocalRange[] | null | undefined>>(days: Days): Days {
  return Object.fromEntries(Object.entries(days).map(([day, ranges]) => [day, ranges && joinedRanges(ranges)])) as Days;
}

function joinedRanges(ranges: LocalRange[]): LocalRange[] {
  const joined: LocalRange[] = [];
  for (const [opens, closes] of ranges.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    const last = joined.at(-1);
    if (last && opens < last[1]) last[1] = closes > last[1] ? closes : last[1];
    else joined.push([opens, closes]);
  }
  return joined;
}
