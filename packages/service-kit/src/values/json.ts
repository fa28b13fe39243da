/** Returns the length of a value's JSON in bytes of UTF-8. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Bounds of a JSON document, which count characters outside of its strings. */
interface JsonBounds {
  /** Maximum nesting of brackets. */
  depth?: number;
  /** Maximum number of commas and opening brackets: roughly the number of values at all levels. */
  values?: number;
  /** Maximum number of commas and brackets. */
  structure?: number;
}

/**
 * Returns the first bound that a JSON document exceeds; undefined if it is within all. Checks in one pass before parsing: many small values take
 * a hundred times as long to parse as one string of the same size. Does not validate the document.
 */
export function exceededBound(text: string, bounds: JsonBounds): keyof JsonBounds | undefined {
  const { depth = Infinity, values = Infinity, structure = Infinity } = bounds;
  let [within, begun, count] = [0, 0, 0];
  let inText = false;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (inText) {
      if (unit === 92) index++;
      else if (unit === 34) inText = false;
      continue;
    }
    if (unit === 34) inText = true;
    const opens = unit === 91 || unit === 123;
    const closes = unit === 93 || unit === 125;
    if (!opens && !closes && unit !== 44) continue;
    if (opens) within++;
    if (closes) within--;
    count++;
    if (!closes) begun++;
    if (within > depth) return 'depth';
    if (begun > values) return 'values';
    if (count > structure) return 'structure';
  }
  return undefined;
}
