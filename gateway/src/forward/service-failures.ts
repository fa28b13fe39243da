import type { IncomingMessage } from 'node:http';
import type { ApiError } from '@customer-platform/contracts/core';
import { serviceUnavailable } from '@customer-platform/service-kit';

/** Code of the error of a connection that was not made in time; ETIMEDOUT may also come of one that was. */
export const connectTimeout = 'ECONNECTTIMEOUT';

/** Errors of a connection that never was: the service has seen nothing of the request. */
const unconnected = new Set([connectTimeout, 'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Returns the code of an error of a connection; empty where it has none. */
export function codeOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

/** Returns whether there was no connection: the service has seen nothing of the request. */
export function isUnconnected(error: Error): boolean {
  return unconnected.has(codeOf(error));
}

/** The refusal of a request that its service does not respond to. */
export function noResponse(service: string): ApiError {
  return serviceUnavailable(`${service} does not respond; try again shortly`);
}

/**
 * Returns whether a 5xx is of something before a service, such as a balancer, and no envelope. Balancers have pages of 5xx in JSON as well: those of our
 * services are told from them by their whole content type.
 */
export function isForeignFailure({ statusCode, headers }: IncomingMessage): boolean {
  if (statusCode! < 500) return false;
  return headers['content-type']?.toLowerCase().replaceAll(' ', '') !== 'application/json;charset=utf-8';
}
