import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Subjects each service may use, as deploy/nats/permissions.json has them; `{prefix}` stands for BUS_PREFIX. */
export type BusPermissions = Record<string, { publish: string[]; subscribe: string[] }>;

/** The first token of every subject where BUS_PREFIX is not set. */
export const defaultPrefix = 'platform';

/** Returns the permissions that are derived from the services' sources. */
export function busPermissions(): BusPermissions {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../nats/permissions.json'), 'utf8')) as BusPermissions;
}

/**
 * Returns the `authorization` block of a NATS configuration: one user per service, who may use that service's subjects alone.
 * @param passwordOf a service's password as NATS reads it: a quoted text, or `$NAME` for a variable of its environment
 */
export function authorizationBlock(
  permissions: BusPermissions,
  prefix: string,
  passwordOf: (service: string) => string,
): string {
  const users = Object.entries(permissions).map(([name, { publish, subscribe }]) => {
    const subjects = (list: string[]) =>
      list.map((subject) => `          ${JSON.stringify(subject.replaceAll('{prefix}', prefix))}\n`).join('');
    return `    {
      user: ${name}
      password: ${passwordOf(name)}
      permissions: {
        publish: { allow: [
${subjects(publish)}        ] }
        subscribe: { allow: [
${subjects(subscribe)}        ] }
      }
    }
`;
  });
  return `authorization: {
  users: [
${users.join('')}  ]
}
`;
}

/** Returns the variable of the NATS server's environment that holds a service's password. */
export function passwordVariable(service: string): string {
  return `NATS_PASSWORD_${service.toUpperCase()}`;
}
