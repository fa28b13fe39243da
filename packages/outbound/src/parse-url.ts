/**
 * Longest authority of a URL that is parsed, in UTF-16 units: a name has at most 253 characters, a port five. The parser encodes a name of any length
 * in time that grows with its square: 2,000 letters hold the event loop for 10 ms.
 */
const maxAuthority = 260;

/**
 * Returns the URL, or null if it is none or its host is too long to be a name. For every URL that a customer or a customer's server chose;
 * `base` is where a relative one begins.
 */
export function parseUrl(text: string, base?: string): URL | null {
  return hasLongAuthority(text) ? null : URL.parse(text, base);
}

/** Returns whether a URL has a host, with its user and port, that is too long to be a name. */
export function hasLongAuthority(text: string): boolean {
  // As the parser reads it: without leading blanks and without line breaks and tabs, and by any number of slashes of either kind.
  const bare = text.replace(/[\t\n\r]/g, '').replace(/^[\0- ]+/, '');
  const start = /^(?:[a-z][a-z0-9+.-]*:[/\\]*|[/\\]{2,})/i.exec(bare)?.[0].length;
  if (start === undefined) return false;
  const end = bare.slice(start, start + maxAuthority + 1).search(/[/\\?#]/);
  return end === -1 && bare.length - start > maxAuthority;
}
