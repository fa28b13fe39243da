/** Stands in a result for a secret. */
export const hidden = '[hidden; create or rotate it in a terminal with customer-platform, which shows it to you alone]';

/** API keys, and secrets that sign webhooks and provider requests, wherever they stand in a text. */
const secretText = /\b(?:cp_(?:live|test)_|whsec_)[\w+/=-]+/g;
/** Names of secrets in the response of an operation that shows one: `key`, `secret`, `auth_token`. */
const secretName = /(?:^|_)(?:key|secret|token|password)$/;

/** Returns a response without its secrets. `respondsWithSecret` tells that the operation shows one, under a name such as `key`. */
export function withoutSecrets(value: unknown, respondsWithSecret: boolean): unknown {
  if (typeof value === 'string') return value.replaceAll(secretText, hidden);
  if (Array.isArray(value)) return value.map((each) => withoutSecrets(each, respondsWithSecret));
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([name, each]) => {
    const isSecret = typeof each === 'string' && (name === 'secret' || (respondsWithSecret && secretName.test(name)));
    return [name, isSecret ? hidden : withoutSecrets(each, respondsWithSecret)] as const;
  });
  return Object.fromEntries(entries);
}
