import { hash, timingSafeEqual } from 'node:crypto';

const shortest = 32;
/** Name of the holder of ADMIN_TOKEN. */
const defaultActor = 'admin';

/** Settings with the control plane's tokens. */
interface TokenSettings {
  ADMIN_TOKEN?: string | undefined;
  ADMIN_TOKENS?: string | undefined;
}

/** Tokens of the control plane, each with its holder's name. The audit log records changes under that name. */
export class AdminTokens {
  readonly #tokens: { actor: string; hash: Buffer }[];

  /** Throws an Error that names the setting and what is wrong. */
  constructor(settings: TokenSettings) {
    const entries = entriesOf(settings);
    if (entries.length === 0) throw new Error('ADMIN_TOKEN or ADMIN_TOKENS must be set');
    for (const [index, { actor, token, setting }] of entries.entries()) {
      const place = setting === 'ADMIN_TOKENS' ? `ADMIN_TOKENS, ${actor}` : setting;
      if (token.length < shortest) throw new Error(`${place}: the token must have at least ${shortest} characters`);
      const others = entries.slice(0, index);
      if (others.some((other) => other.actor === actor)) throw new Error(`${place}: the name must be unique`);
      if (others.some((other) => other.token === token)) throw new Error(`${place}: the token must be unique`);
    }
    this.#tokens = entries.map(({ actor, token }) => ({ actor, hash: hash('sha256', token, 'buffer') }));
  }

  /** Returns the name of a token's holder, or undefined for an unknown token. */
  actorOf(given: string): string | undefined {
    // Compares hashes of equal length with all tokens, so that every guess takes the same time.
    const givenHash = hash('sha256', given, 'buffer');
    return this.#tokens.filter((token) => timingSafeEqual(token.hash, givenHash))[0]?.actor;
  }
}

function entriesOf({ ADMIN_TOKEN, ADMIN_TOKENS }: TokenSettings) {
  const listed = (ADMIN_TOKENS ?? '').split(',').flatMap((entry, index) => {
    if (entry.trim() === '') return [];
    const [, actor, token] = /^\s*([A-Za-z0-9._@-]{1,100}):(\S+)\s*$/.exec(entry) ?? [];
    if (actor === undefined || token === undefined) {
      throw new Error(`ADMIN_TOKENS, entry ${index + 1}: must be a name and a token, such as anna:<token>`);
    }
    return [{ setting: 'ADMIN_TOKENS', actor, token }];
  });
  return ADMIN_TOKEN ? [{ setting: 'ADMIN_TOKEN', actor: defaultActor, token: ADMIN_TOKEN }, ...listed] : listed;
}
