import { hash, timingSafeEqual } from 'node:crypto';

const shortest = 32;
/** Name of the holder of ADMIN_TOKEN. */
const defaultActor = 'admin';

/** Settings with the control plane's tokens. */
interface TokenSettings {
  ADMIN_TOKEN?: string | undefined;
  ADMIN_TOKENS?: string | undefined;
}

/** Tokens of the control plane, each with the name of its holder, under which changes are recorded. */
export class AdminTokens {
  readonly #tokens: { actor: string; hash: Buffer }[];

  /** Throws an Error that names the setting and what is wrong with it. */
  constructor(settings: TokenSettings) {
    const entries = entriesOf(settings);
    if (entries.length === 0) throw new Error('ADMIN_TOKEN or ADMIN_TOKENS must be set');
    for (const [index, { actor, token, setting }] of entries.entries()) {
      const place = setting === 'ADMIN_TOKENS' ? `ADMIN_TOKENS, ${actor}` : setting;
      if (token.length < shortest) throw new Error(`${place}: a token has ${shortest} characters at least`);
      const others = entries.slice(0, index);
      if (others.some((other) => other.actor === actor)) throw new Error(`${place}: this name is there twice`);
      if (others.some((other) => other.token === token)) throw new Error(`${place}: this token is another's too`);
    }
    this.#tokens = entries.map(({ actor, token }) => ({ actor, hash: hash('sha256', token, 'buffer') }));
  }

  /** Returns the name of a token's holder, undefined where it is none. */
  actorOf(given: string): string | undefined {
    // Hashes have one length, and all are compared: it takes the same time for every guess.
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
