import type { IncomingMessage } from 'node:http';

/**
 * Returns whether a 5xx is of something before a service, such as a balancer, and no envelope. Balancers have pages of 5xx in JSON as well: those of our
 * services are told from them by their whole content type.
 */
export function isForeignFailure({ statusCode, headers }: IncomingMessage): boolean {
  if (statusCode! < 500) return false;
  return headers['content-type']?.toLowerCase().replaceAll(' ', '') !== 'application/json;charset=utf-8';
}
