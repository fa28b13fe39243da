/** Returns the length of a value's JSON in bytes of UTF-8. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Bounds of JSON, which count what is outside of its texts. */
interface JsonBounds {
  /** Brackets within each other. */
  depth?: number;
  /** Commas and opening brackets: about its values at all levels. */
  values?: number;
  /** Commas and all brackets. */
  structure?: number;
}

/**
 * Returns the bound that JSON breaks first; undefined where it is within all. Known in one pass before it is parsed: many small values take a
 * hundred times as long to read as a text of the same size. Of what is no JSON it says nothing.
 */
export function brokenBound(text: string, bounds: JsonBounds): keyof JsonBounds | undefined {
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
