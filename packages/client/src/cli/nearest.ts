/** Largest edit distance, as a share of the word's length. */
const mostDifferent = 1 / 3;

/** Returns the candidate with the smallest edit distance to a string; undefined if none is close enough. */
export function nearest(text: string, candidates: readonly string[]): string | undefined {
  const [best] = candidates
    .map((candidate) => ({ candidate, distance: distanceOf(text, candidate) }))
    .filter(({ distance }) => distance <= Math.round(text.length * mostDifferent))
    .sort((one, other) => one.distance - other.distance);
  return best?.candidate;
}

/** Returns the Levenshtein distance of two strings. */
function distanceOf(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const replaced = above[column - 1]! + (one[row - 1] === other[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, above[column]! + 1, current[column - 1]! + 1));
    }
    above = current;
  }
  return above.at(-1)!;
}
