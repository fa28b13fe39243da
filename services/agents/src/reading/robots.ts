import { Unreadable } from '@customer-platform/documents';
import type { Getter } from '@customer-platform/outbound';
import { LRUCache } from '@customer-platform/service-kit';
import type { SourceExtractor } from './extractors.ts';

/** Our user agent in robots.txt files. */
export const agentName = 'customer-platform-reader';
/** Maximum bytes of a robots.txt that are parsed. The rest is ignored (RFC 9309, 2.5). */
const maxRobotsBytes = 500 * 1_024;

/** Beginning of the refusal if a host's robots.txt is unavailable. */
export const robotsUnavailable = 'its robots.txt cannot be read';

/** Maximum cached robots.txt files. A website has one or two hosts, and redirects to many hosts could fill the memory. */
const maxHosts = 4;

type Rules = { robotsUrl: string; bytes: Buffer } | 'all' | { refusal: string };

interface RobotsTools {
  getter: Getter;
  extractor: SourceExtractor;
  poolKey: string;
  signal: AbortSignal;
}

/**
 * Returns a function that checks a URL of one website against its host's robots.txt. It returns why the page must not be read, or null if
 * it may be. An unavailable robots.txt forbids everything, a missing one nothing. Each file is fetched once while it is cached.
 */
export function robotsOf({ getter, extractor, poolKey, signal }: RobotsTools) {
  const known = new LRUCache<string, Promise<Rules>>({ max: maxHosts });
  const fetchRules = async (origin: string): Promise<Rules> => {
    const robotsUrl = `${origin}/robots.txt`;
    const request = { poolKey, url: robotsUrl, signal, maxBodyBytes: maxRobotsBytes, cutsBody: true } as const;
    const response = await getter.get(request);
    if (response.error !== undefined) return { refusal: `${robotsUnavailable}: ${response.message}` };
    if (response.status >= 500) return { refusal: `${robotsUnavailable}: it responded with ${response.status}` };
    if (response.status < 200 || response.status > 299) return 'all';
    return { robotsUrl, bytes: response.body };
  };
  return async (url: string): Promise<string | null> => {
    const { origin } = new URL(url);
    const fetched = known.get(origin) ?? fetchRules(origin);
    known.set(origin, fetched);
    const rules = await fetched;
    if (rules === 'all') return null;
    if ('refusal' in rules) return rules.refusal;
    try {
      const { robotsUrl, bytes } = rules;
      const isAllowed = await extractor.allows({ robotsUrl, url, agent: agentName }, bytes);
      return isAllowed ? null : 'its robots.txt does not allow it';
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      return `${robotsUnavailable}: ${error.message.charAt(0).toLowerCase()}${error.message.slice(1)}`;
    }
  };
}
