import type { Operation } from './core/operation.ts';

/** What an operation does to its resource, where its key says so. */
const usualVerb = /^(create|list|get|update|delete|put)[A-Z]/;

/**
 * Returns the name by which the clients call an operation, as `calendar.appointments.create`: its resource and what it does to that. Both follow from path
 * and key, where the operation does not say otherwise.
 */
export function clientName({ key, path, clientName }: Pick<Operation, 'key' | 'path' | 'clientName'>): string {
  if (clientName) return clientName;
  const parts = path.split('/').slice(2);
  const names = parts.filter((part) => !part.startsWith('{')).map(camelCase);
  const verb = usualVerb.exec(key)?.[1];
  return [...names, ...(verb ? [verb] : [])].join('.');
}

/** Returns the resource in a client name, as `calendar.appointments`. */
export const resourceOf = (name: string) => name.slice(0, name.lastIndexOf('.'));

const camelCase = (text: string) => text.replaceAll(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase());
