/** Returns the length of a value's JSON in bytes of UTF-8. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/**
 * Returns whether `isFound` holds for a comma or bracket of JSON that is outside of its texts, given as UTF-16 units in their order: what there is of
 * it is known in one pass, before it is parsed. It ends with the first that is found; of what is no JSON it says nothing.
 */
export function someStructural(text: string, isFound: (unit: number) => boolean): boolean {
  let inText = false;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (inText) {
      if (unit === 92) index++;
      else if (unit === 34) inText = false;
    } else if (unit === 34) inText = true;
    else if ((unit === 44 || unit === 91 || unit === 93 || unit === 123 || unit === 125) && isFound(unit)) return true;
  }
  return false;
}

/** Bounds of JSON: its commas and brackets, and its brackets within each other. */
interface StructureBounds {
  structure: number;
  depth?: number;
}

/** Returns whether JSON is beyond bounds, before it is parsed: many small values take a hundred times as long to read as a text of the same size. */
export function isBeyond(text: string, { structure, depth = Number.POSITIVE_INFINITY }: StructureBounds): boolean {
  let [count, within] = [0, 0];
  return someStructural(text, (unit) => {
    if (unit === 91 || unit === 123) within++;
    else if (unit !== 44) within--;
    return ++count > structure || within > depth;
  });
}
