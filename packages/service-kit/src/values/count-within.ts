/** Returns how many of the first items stay within a number and a sum of bytes: one at least, where there is one. */
export function countWithin(sizes: readonly number[], most: { items: number; bytes: number }): number {
  let sum = 0;
  const tooMany = sizes.findIndex((size, index) => {
    sum += size;
    return index > 0 && (index === most.items || sum > most.bytes);
  });
  return tooMany === -1 ? sizes.length : tooMany;
}
