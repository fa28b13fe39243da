/** Returns how many of the first items stay within a number of items and a sum of bytes. At least one does, if there is any. */
export function countWithin(sizes: readonly number[], most: { items: number; bytes: number }): number {
  let sum = 0;
  const tooMany = sizes.findIndex((size, index) => {
    sum += size;
    return index > 0 && (index === most.items || sum > most.bytes);
  });
  return tooMany === -1 ? sizes.length : tooMany;
}
