import type { Operation } from './core/operation.ts';

/** Verb that many operations' keys begin with. */
const usualVerb = /^(create|list|get|update|delete|put)[A-Z]/;

/**
 * Returns an operation's name in the clients, such as `calendar.appointments.create`: the resource and a verb. The path gives the resource
 * and the key the verb, unless the operation sets `clientName`.
 */
export function clientName({ key, path, clientName }: Pick<Operation, 'key' | 'path' | 'clientName'>): string {
  if (clientName) return clientName;
  const parts = path.split('/').slice(2);
  const names = parts.filter((part) => !part.startsWith('{')).map(camelCase);
  const verb = usualVerb.exec(key)?.[1];
  return [...names, ...(verb ? [verb] : [])].join('.');
}

/** Returns the resource in a client name, such as `calendar.appointments`. */
export const resourceOf = (name: string) => name.slice(0, name.lastIndexOf('.'));

const camelCase = (text: string) => text.replaceAll(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase());
