/** Replaces a secret in a result. */
export const hidden = '[hidden; create or rotate it with customer-platform in a terminal, where only you see it]';

/** Matches API keys and signing secrets anywhere in a string. */
const secretText = /\b(?:cp_(?:live|test)_|whsec_)[\w+/=-]+/g;
/** Matches the names of secret fields, such as `key`, `secret` and `auth_token`. */
const secretName = /(?:^|_)(?:key|secret|token|password)$/;

/** Returns a response without its secrets. `respondsWithSecret` means that the operation returns one in a field such as `key`. */
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
