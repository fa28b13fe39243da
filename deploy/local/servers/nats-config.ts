import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Subjects that each service may use, from deploy/nats/permissions.json; `{prefix}` stands for BUS_PREFIX. */
export type BusPermissions = Record<string, { publish: string[]; subscribe: string[] }>;

/**
 * Ping settings of the server, the same as in deploy/nats/server.conf. NATS drops a frozen process after 10 to 15 s and routes no requests to it.
 */
export const pings = { ping_interval: '5s', ping_max: 2 };

/** First token of every subject if BUS_PREFIX is not set. */
export const defaultPrefix = 'platform';

/** Returns the permissions, which `npm run reference` derives from the services' sources. */
export function busPermissions(): BusPermissions {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../../nats/permissions.json'), 'utf8')) as BusPermissions;
}

/**
 * Returns the `authorization` block of a NATS configuration: one user per service, limited to that service's subjects.
 * @param passwordOf a service's password as NATS parses it: a quoted string, or `$NAME` for a variable of its environment
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

/** Returns the environment variable of the NATS server that holds a service's password. */
export function passwordVariable(service: string): string {
  return `NATS_PASSWORD_${service.toUpperCase()}`;
}
