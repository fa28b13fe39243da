import type { IncomingMessage } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';

/** Challenge of a 401. */
export const bearerChallenge = { 'WWW-Authenticate': 'Bearer' };

/** Returns the token of `Authorization: Bearer <token>`, not yet checked; undefined without one. */
export function bearerToken({ headers: { authorization } }: IncomingMessage): string | undefined {
  return authorization !== undefined && /^bearer +\S/i.test(authorization) ? authorization.slice(7).trim() : undefined;
}

/** Returns the 401 of a request whose token is missing or, if it has one, wrong. */
export function tokenRefusal(request: IncomingMessage, name: string, setting: string): ApiError {
  const options = { headers: bearerChallenge };
  if (bearerToken(request) !== undefined) return new ApiError('invalid_key', `The ${name} token is wrong`, options);
  return new ApiError('key_required', `Send the ${name} token: Authorization: Bearer <${setting}>`, options);
}
