import type { IncomingMessage } from 'node:http';

/** Returns whether a failure is of something before a service, such as a balancer: those of our services are envelopes, and have this content type. */
export function isForeignFailure({ statusCode, headers }: IncomingMessage): boolean {
  return statusCode! >= 400 && headers['content-type'] !== 'application/json; charset=utf-8';
}
