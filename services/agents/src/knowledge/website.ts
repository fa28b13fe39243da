import { ApiError } from '@customer-platform/contracts/core';
import { checkPageUrl, type TargetGuard } from '@customer-platform/outbound';

/** A website as it is stored. */
export interface Website {
  title: string;
  url: string;
  url_key: string;
  page_urls: string[];
}

/**
 * The website at `url` and those of `pages` that are of the same host, each once and normalised; url alone where none is. Throws
 * invalid_request, field url or pages, for what is no address of a page or names a private address. Names are looked up when pages
 * are read, not here.
 */
export async function websiteOf(
  url: string,
  pages: readonly string[] | undefined,
  guard: TargetGuard,
): Promise<Website> {
  const key = await pageUrl(url, 'url', 'url', guard);
  return { title: addressOf(url), url, url_key: key, page_urls: await pageUrls(key, pages, guard) };
}

/** Those of `pages` that are of the host of the website `url`, each once and normalised; url alone where none is or none are given. */
export async function pageUrls(
  url: string,
  pages: readonly string[] | undefined,
  guard: TargetGuard,
): Promise<string[]> {
  const { host } = new URL(url);
  const given = (pages ?? []).map((page, index) => {
    // Where another site leads is nobody's business: it is left out, wherever it is.
    const other = URL.parse(page);
    const isOther = other !== null && /^https?:$/.test(other.protocol) && other.host !== host;
    return isOther ? null : pageUrl(page, 'pages', `pages[${index}]`, guard);
  });
  const own = (await Promise.all(given)).filter((page) => page !== null);
  return own.length === 0 ? [normalized(url)] : [...new Set(own)];
}

const maxLength = 2_048;

/** The URL of a page, normalised. Names are not looked up. Throws invalid_request with this field where it must not be read. */
async function pageUrl(text: string, field: string, path: string, guard: TargetGuard): Promise<string> {
  const refuse = (message: string) => new ApiError('invalid_request', message, { field });
  const refusal = await checkPageUrl(text, { ...guard, resolve: async () => [] });
  if (refusal !== null) throw refuse(refusal.replace(/^url/, path));
  const url = normalized(text);
  if (url.length > maxLength) throw refuse(`${path} must be at most ${maxLength} characters when encoded as ASCII`);
  return url;
}

/** A URL as it is the same for two spellings of it, without fragment. */
function normalized(text: string): string {
  const url = new URL(text);
  url.hash = '';
  return url.href;
}

/** An address without its scheme, and of a bare host without the slash at its end. */
function addressOf(url: string): string {
  return url
    .replace(/^https?:[/\\]*/i, '')
    .replace(/#.*$/s, '')
    .replace(/^([^/?]+)\/$/, '$1');
}
