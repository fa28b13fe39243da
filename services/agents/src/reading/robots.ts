import { Unreadable } from '@customer-platform/documents';
import type { Getter } from '@customer-platform/outbound';
import { LRUCache } from '@customer-platform/service-kit';
import type { ExtractorShare } from './extractors.ts';

/** The name by which a robots.txt speaks of us. */
export const agentName = 'customer-platform-reader';
/** What is read of a robots.txt; what comes after counts for nothing (RFC 9309, 2.5). */
const maxRobotsBytes = 500 * 1_024;

/** How a refusal begins where a host does not say what may be read. */
export const robotsAway = 'its robots.txt cannot be read';

/** Of so many hosts at once what they say is kept: a website has one or two, and whoever redirects everywhere could fill the memory. */
const maxHosts = 4;

type Rules = { robotsUrl: string; bytes: Buffer } | 'all' | { refusal: string };

/** What the hosts of one website let us read: each is asked for its robots.txt once, as long as they are few. */
export class Robots {
  readonly #rules = new LRUCache<string, Promise<Rules>>({ max: maxHosts });
  readonly #tools: { getter: Getter; extractor: ExtractorShare; poolKey: string; signal: AbortSignal };

  constructor(tools: { getter: Getter; extractor: ExtractorShare; poolKey: string; signal: AbortSignal }) {
    this.#tools = tools;
  }

  /** Why a page must not be read, null where it may be: one that cannot be asked lets us read nothing, one without rules everything. */
  async refusalOf(url: string): Promise<string | null> {
    const { origin } = new URL(url);
    const asked = this.#rules.get(origin) ?? this.#ask(origin);
    this.#rules.set(origin, asked);
    const rules = await asked;
    if (rules === 'all') return null;
    if ('refusal' in rules) return rules.refusal;
    const { robotsUrl, bytes } = rules;
    try {
      const isAllowed = await this.#tools.extractor.allows({ robotsUrl, url, agent: agentName }, bytes);
      return isAllowed ? null : 'its robots.txt does not allow it';
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      return `${robotsAway}: ${error.message.charAt(0).toLowerCase()}${error.message.slice(1)}`;
    }
  }

  async #ask(origin: string): Promise<Rules> {
    const { getter, poolKey, signal } = this.#tools;
    const robotsUrl = `${origin}/robots.txt`;
    const answer = await getter.get({ poolKey, url: robotsUrl, signal, maxBodyBytes: maxRobotsBytes, cutsBody: true });
    if (answer.error !== undefined) return { refusal: `${robotsAway}: ${answer.message}` };
    if (answer.status >= 500) return { refusal: `${robotsAway}: it responded with ${answer.status}` };
    if (answer.status < 200 || answer.status > 299) return 'all';
    return { robotsUrl, bytes: answer.body };
  }
}
