import {
  AnnouncedOperation,
  type RoutedOperation,
  type ServiceName,
  servicePrefixes,
} from '@customer-platform/contracts/core';
import type { z } from 'zod';

/** A route that a service announced in vain, or all of them. */
export interface RefusedRoute {
  /** Such as `GET /v1/crm/deals`; null where the whole announcement is refused. */
  route: string | null;
  reason: string;
}

/** Checks announced operations one by one: returns those that can be routed by, and the others with what is wrong with each. */
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
      refused.push({ route, reason: `${service} may serve ${prefixes.join(' and ')} alone` });
    } else if (other) refused.push({ route, reason: `${other.key} is at this path already` });
    else if (keys.has(data.key)) refused.push({ route, reason: `there is another operation ${data.key}` });
    else {
      keys.add(data.key);
      operations.set(place, { service, ...data } as RoutedOperation);
    }
  }
  return { operations: [...operations.values()], refused };
}

/** Returns the first thing that is wrong with an announced value, which `whole` names where no field does. */
export function firstIssueOf({ issues: [issue] }: z.ZodError, whole: string): string {
  return `${issue!.path.join('.') || whole}: ${issue!.message}`;
}

/** Names a route for operators, whatever was announced. */
function routeOf(announced: unknown): string {
  const { method, path } = (announced ?? {}) as { method?: unknown; path?: unknown };
  const shown = (value: unknown) => (typeof value === 'string' ? value.slice(0, 200) : typeof value);
  return `${shown(method)} ${shown(path)}`;
}
