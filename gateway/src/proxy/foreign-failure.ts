import type { IncomingMessage } from 'node:http';

/**
 * Returns whether a failure is of something before a service, such as a balancer, and no envelope. Balancers have pages of 5xx in JSON as well: those of our
 * services are told from them by their whole content type.
 */
export function isForeignFailure({ statusCode, headers }: IncomingMessage): boolean {
  const type = headers['content-type'] ?? '';
  if (statusCode! >= 500) return type !== 'application/json; charset=utf-8';
  return statusCode! >= 400 && !type.startsWith('application/json');
}
