/** A request's target in the one form in which it is both matched and forwarded. */
export interface RequestPath {
  /** The path's segments, still percent-encoded: `['v1', 'calendar', 'appointments']`. */
  segments: string[];
  /** Path and query as they are sent on. */
  target: string;
}

/** Printable ASCII but the characters that some reader of URLs takes for something else. */
const plain = /^[!"$-.0-9:;<=>@-[\]-~]+$/;

/**
 * Reads a request's target. Answers undefined where it names nothing for sure: an empty segment (`//`, a trailing
 * slash), `.` or `..` in any spelling, an encoded NUL, an escape that is none, a fragment, anything beyond ASCII.
 * Escapes are decoded and written anew, so that gateway and service cannot read two paths out of one: an encoded
 * slash belongs to its segment in both, which only a parameter such as an external id can match.
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
    return undefined; // not an escape, or not UTF-8: there is nothing of that name
  }
  if (decoded === '.' || decoded === '..' || decoded.includes('\0')) return undefined;
  return encodeURIComponent(decoded);
}
