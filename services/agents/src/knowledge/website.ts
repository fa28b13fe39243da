import { ApiError } from '@customer-platform/contracts/core';
import { checkPageUrl, parseUrl, type TargetGuard } from '@customer-platform/outbound';

/**
 * Returns the website at `url` with those of `pages` on the same host, normalised, without duplicates; `url` alone if there is none.
 * Throws invalid_request, field url or pages, for an invalid URL or a private address. Host names are resolved when pages are read,
 * not here.
 */
export async function websiteOf(url: string, pages: readonly string[] | undefined, guard: TargetGuard) {
  const key = await pageUrl(url, 'url', 'url', guard);
  return { title: addressOf(url), url, url_key: key, page_urls: await pageUrls(key, pages, guard) };
}

/** Returns those of `pages` on the host of `url`, normalised, without duplicates; `url` alone if there is none. */
export async function pageUrls(
  url: string,
  pages: readonly string[] | undefined,
  guard: TargetGuard,
): Promise<string[]> {
  const { host } = new URL(url);
  const given = (pages ?? []).map((page, index) => {
    // Pages of other sites are left out, whatever their address.
    const other = parseUrl(page);
    const isOther = other !== null && /^https?:$/.test(other.protocol) && other.host !== host;
    return isOther ? null : pageUrl(page, 'pages', `pages[${index}]`, guard);
  });
  const own = (await Promise.all(given)).filter((page) => page !== null);
  return own.length === 0 ? [normalized(url)] : [...new Set(own)];
}

const maxLength = 2_048;

/** Returns the normalised URL of a page, without resolving its host. Throws invalid_request, this field, if it must not be read. */
async function pageUrl(text: string, field: string, path: string, guard: TargetGuard): Promise<string> {
  const refuse = (message: string) => new ApiError('invalid_request', message, { field });
  const refusal = await checkPageUrl(text, { ...guard, resolve: async () => [] });
  if (refusal !== null) throw refuse(refusal.replace(/^url/, path));
  const url = normalized(text);
  if (url.length > maxLength) throw refuse(`${path} must be at most ${maxLength} characters when encoded as ASCII`);
  return url;
}

/** Returns a normalised URL, the same for every spelling, without fragment. */
function normalized(text: string): string {
  const url = new URL(text);
  url.hash = '';
  return url.href;
}

/** Returns a URL without its scheme, and without the trailing slash of a bare host. */
function addressOf(url: string): string {
  return url
    .replace(/^https?:[/\\]*/i, '')
    .replace(/#.*$/s, '')
    .replace(/^([^/?]+)\/$/, '$1');
}
