import type { Me } from '../../generated/types.ts';
import type { Api, Guide } from './api.ts';
import type { Operation } from './document.ts';
import { MiniSearch } from './packages.ts';

/** Most operations, and most guides, that a search returns. */
const most = { operations: 12, guides: 5 };

/** What a search finds, the best first. */
export interface Found {
  operations: { operation: string; note: string | undefined }[];
  guides: Guide[];
}

/** Returns the operations and the guides that fit a query. */
export function search(api: Api, query: string): Found {
  const operations = api.operations.map((operation, id) => ({
    id,
    name: `${words(operation.id)} ${words(operation.name)}`,
    path: operation.path,
    summary: operation.summary,
    description: operation.description,
  }));
  const guides = api.guides.map(({ page, title, description }, id) => ({
    id,
    name: page,
    summary: title,
    description,
  }));
  return {
    operations: best(operations, query, most.operations).map((index) => listed(api.operations[index]!, api.me)),
    guides: best(guides, query, most.guides).map((index) => api.guides[index]!),
  };
}

/** Returns an operation by its id or its name in the clients; undefined for any other text. */
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

function listed(operation: Operation, me: Me): Found['operations'][number] & Record<string, unknown> {
  const { id, name, method, path, summary, scope, isRead } = operation;
  const tool = isRead ? 'call_operation' : 'call_operation_write';
  return { operation: id, name, method, path, summary, scope, tool, note: refusalOf(operation, me) };
}

interface Entry {
  id: number;
  name: string;
  summary: string;
  description: string;
}

function best(entries: readonly Entry[], query: string, count: number): number[] {
  const index = new MiniSearch<Entry>({
    fields: ['name', 'path', 'summary', 'description'],
    searchOptions: { boost: { name: 3, summary: 3, path: 2 }, prefix: (term) => term.length > 2, fuzzy: 0.2 },
  });
  index.addAll(entries);
  return index
    .search(words(query))
    .slice(0, count)
    .map(({ id }) => id as number);
}

/** Returns a name in camel case as words. */
function words(name: string): string {
  return name.replaceAll(/([a-z])([A-Z])/g, '$1 $2');
}
