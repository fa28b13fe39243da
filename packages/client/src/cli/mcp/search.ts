import type { Me } from '../../generated/types.ts';
import type { Api } from './api.ts';
import type { Operation } from './document.ts';
import type { Guide, Section } from './guides.ts';
import { MiniSearch } from './packages.ts';
import { termsOf, wordsOf } from './words.ts';

/** A search returns at most this many operations and guides. */
const most = { operations: 12, guides: 5 };

/** An operation in a search result. */
interface FoundOperation {
  operation: string;
  /** Why the key cannot call the operation; undefined if it can. */
  note: string | undefined;
  [key: string]: unknown;
}

/** A guide in a search result, with the matching section and its offset unless the match is at the beginning. */
type FoundGuide = Guide & { section?: string; offset?: number };

/** Returns the operations that match a query, the best first. */
export function findOperations({ operations, me }: Pick<Api, 'operations' | 'me'>, query: string): FoundOperation[] {
  const entries = operations.map(({ id, name, path, summary, description }) => ({
    name: `${id} ${name}`,
    path,
    summary,
    description,
  }));
  return best(entries, query)
    .slice(0, most.operations)
    .map((index) => listed(operations[index]!, me));
}

/** Returns the guides with sections that match a query, the best first, each guide once. */
export function findGuides(sections: readonly Section[], query: string): FoundGuide[] {
  const entries = sections.map(({ guide, heading, offset, text }) => ({
    name: `${guide.page} ${guide.title}`,
    path: '',
    summary: offset === 0 ? `${heading} ${guide.description}` : heading,
    description: text,
  }));
  const found = new Map<string, FoundGuide>();
  for (const index of best(entries, query)) {
    const { guide, heading, offset } = sections[index]!;
    if (!found.has(guide.page)) found.set(guide.page, offset === 0 ? guide : { ...guide, section: heading, offset });
  }
  return [...found.values()].slice(0, most.guides);
}

/** Returns an operation by its id or its name in the clients; undefined if there is none. */
export function findOperation({ operations }: Api, text: string): Operation | undefined {
  return operations.find(({ id, name }) => id === text || name === text);
}

/** Returns why a key cannot call an operation; undefined if it can. */
export function refusalOf({ scope, module, obstacle }: Operation, me: Me): string | undefined {
  if (obstacle !== undefined) return obstacle;
  if (scope !== undefined && !me.scopes.includes('*') && !me.scopes.includes(scope))
    return `The key lacks the scope ${scope}.`;
  const isOff = module !== undefined && !(me.modules as string[]).includes(module);
  return isOff ? `The module ${module} is not in the account's plan, or is switched off.` : undefined;
}

function listed(operation: Operation, me: Me): FoundOperation {
  const { id, name, method, path, summary, scope, isRead } = operation;
  const tool = isRead ? 'call_operation' : 'call_operation_write';
  return { operation: id, name, method, path, summary, scope, tool, note: refusalOf(operation, me) };
}

interface Entry {
  name: string;
  path: string;
  summary: string;
  description: string;
}

/** Returns the indexes of the entries that match a query, the best first. */
function best(entries: readonly Entry[], query: string): number[] {
  const index = new MiniSearch<Entry & { id: number }>({
    fields: ['name', 'path', 'summary', 'description'],
    extractField: (entry, field) => {
      const value = entry[field as keyof typeof entry];
      return typeof value === 'string' ? wordsOf(value) : value;
    },
    processTerm: termsOf,
    searchOptions: { boost: { name: 3, summary: 3, path: 2 }, prefix: (term) => term.length > 2, fuzzy: 0.2 },
  });
  index.addAll(entries.map((entry, id) => ({ ...entry, id })));
  return index.search(wordsOf(query)).map(({ id }) => id as number);
}
