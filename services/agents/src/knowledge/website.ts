import { ApiError } from '@customer-platform/contracts/core';
import { checkPageUrl, parseUrl, type TargetGuard } from '@customer-platform/outbound';

/**
 * Returns the website at `url` with the `pages` on its host, or only `url` if there are none. Normalizes URLs and removes duplicates.
 * Throws invalid_request, field url or pages, for an invalid URL or a private address. Host names are resolved only when pages are
 * read.
 */
export async function websiteOf(url: string, pages: readonly string[] | undefined, guard: TargetGuard) {
  const key = await pageUrl(url, 'url', 'url', guard);
  return { title: addressOf(url), url, url_key: key, page_urls: await pageUrls(key, pages, guard) };
}

/** Returns the `pages` on the host of `url`, normalized and without duplicates; only `url` if there are none. */
export async function pageUrls(
  url: string,
  pages: readonly string[] | undefined,
  guard: TargetGuard,
): Promise<string[]> {
  const { host } = new URL(url);
  const given = (pages ?? []).map((page, index) => {
    // Pages on other hosts are skipped without validation.
    const other = parseUrl(page);
    const isOther = other !== null && /^https?:$/.test(other.protocol) && other.host !== host;
    return isOther ? null : pageUrl(page, 'pages', `pages[${index}]`, guard);
  });
  const own = (await Promise.all(given)).filter((page) => page !== null);
  return own.length === 0 ? [normalized(url)] : [...new Set(own)];
}

const maxLength = 2_048;

/** Returns the normalized URL of a page without resolving its host. Throws invalid_request, field `field`, if the page must not be read. */
async function pageUrl(text: string, field: string, path: string, guard: TargetGuard): Promise<string> {
  const refuse = (message: string) => new ApiError('invalid_request', message, { field });
  const refusal = await checkPageUrl(text, { ...guard, resolve: async () => [] });
  if (refusal !== null) throw refuse(refusal.replace(/^url/, path));
  const url = normalized(text);
  if (url.length > maxLength) throw refuse(`${path} must be at most ${maxLength} characters when encoded as ASCII`);
  return url;
}

/** Returns the normalized URL, the same for every spelling, without its fragment. */
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
