/** A request's target in the one form in which it is both matched and forwarded. */
export interface RequestPath {
  /** The path's segments, still percent-encoded: `['v1', 'calendar', 'appointments']`. */
  segments: string[];
  /** Path and query as they are sent on. */
  target: string;
}

/** Printable ASCII without the characters that URL parsers read differently. */
const plain = /^[!"$-.0-9:;<=>@-[\]-~]+$/;

/**
 * Parses a request's target. Returns undefined if it is ambiguous: an empty segment (`//`, a trailing slash), `.` or
 * `..` in any spelling, an encoded NUL, an invalid escape, a fragment, anything beyond ASCII. Escapes are decoded and
 * encoded again, so that gateway and service cannot read two paths out of one: an encoded slash belongs to its segment
 * in both, which only a parameter such as an external id can match.
 */
export function readRequestPath(url: string): RequestPath | undefined {
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  const query = mark === -1 ? '' : url.slice(mark);
  if (path.charCodeAt(0) !== 47 || (query !== '' && !/^[!"$-~]+$/.test(query))) return undefined;
  const segments = path.split('/');
  segments.shift();
  let isEscaped = false;
  for (let index = 0; index < segments.length; index++) {
    const segment = segments[index]!;
    if (!plain.test(segment)) return undefined;
    if (segment.includes('%')) {
      const rewritten = rewriteEscapes(segment);
      if (rewritten === undefined) return undefined;
      segments[index] = rewritten;
      isEscaped = true;
    } else if (segment === '.' || segment === '..') return undefined;
  }
  return { segments, target: isEscaped ? `/${segments.join('/')}${query}` : url };
}

function rewriteEscapes(segment: string): string | undefined {
  let decoded: string;
  try {
    decoded = decodeURIComponent(segment);
  } catch {
    return undefined; // not an escape, or not UTF-8: matches nothing
  }
  if (decoded === '.' || decoded === '..' || decoded.includes('\0')) return undefined;
  return encodeURIComponent(decoded);
}
