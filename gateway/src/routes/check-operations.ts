import {
  AnnouncedOperation,
  type RoutedOperation,
  type ServiceName,
  servicePrefixes,
} from '@customer-platform/contracts/core';
import type { z } from 'zod';

/** A refused route of an announcement, or a refused announcement. */
export interface RefusedRoute {
  /** Such as `GET /v1/crm/deals`. Null if the whole announcement is refused. */
  route: string | null;
  reason: string;
}

/** Checks each announced operation. Returns the valid ones, and the others with the reason for each. */
export function checkOperations(service: ServiceName, announced: readonly unknown[]) {
  const operations = new Map<string, RoutedOperation>();
  const keys = new Set<string>();
  const refused: RefusedRoute[] = [];
  for (const each of announced) {
    const route = routeOf(each);
    const { success, data, error } = AnnouncedOperation.safeParse(each);
    if (!success) {
      refused.push({ route, reason: firstIssueOf(error, 'operation') });
      continue;
    }
    const place = `${data.method} ${data.path.replaceAll(/\{[^{}]*\}/g, '{}')}`;
    const other = operations.get(place);
    const prefixes: readonly string[] = servicePrefixes[service];
    if (!prefixes.some((prefix) => data.path === prefix || data.path.startsWith(`${prefix}/`))) {
      refused.push({ route, reason: `path must be within ${prefixes.join(' or ')}` });
    } else if (other) refused.push({ route, reason: `path is already used by ${other.key}` });
    else if (keys.has(data.key)) refused.push({ route, reason: `key ${data.key} is already used` });
    else {
      keys.add(data.key);
      operations.set(place, { service, ...data } as RoutedOperation);
    }
  }
  return { operations: [...operations.values()], refused };
}

/** Returns the first problem of an announced value. `whole` names the value if the problem has no field. */
export function firstIssueOf({ issues: [issue] }: z.ZodError, whole: string): string {
  return `${issue!.path.join('.') || whole}: ${issue!.message}`;
}

/** Names a route for operators, even if it is malformed. */
function routeOf(announced: unknown): string {
  const { method, path } = (announced ?? {}) as { method?: unknown; path?: unknown };
  const shown = (value: unknown) => (typeof value === 'string' ? value.slice(0, 200) : typeof value);
  return `${shown(method)} ${shown(path)}`;
}
