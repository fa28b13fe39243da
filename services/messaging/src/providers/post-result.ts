import { text } from '@customer-platform/contracts/core';
import { isSuccess, type PostError, type PostResult } from '@customer-platform/outbound';
import type { z } from 'zod';
import type { SendResult } from './provider.ts';

/** A provider's id of a message, in a form that can be stored and looked up. */
export const providerId = text(200, 1)
  .refine((id) => !id.includes('\0'), { error: 'must not contain the character NUL' })
  .refine((id) => id.isWellFormed(), { error: 'must be well-formed Unicode, without lone surrogates' });

/** Schemas of one provider's responses. */
export interface ResponseShape {
  /** Provider name in error messages. */
  name: string;
  /** Message id in an accepting response. */
  accepted: z.ZodType<string>;
  /** Text of a refusal. `isTemporary` overrides its status. `isOfMessage` means that the credentials are valid whatever the status is. */
  refused: z.ZodType<{
    text: string;
    isTemporary?: boolean | undefined;
    isOfMessage?: boolean | undefined;
    reason?: 'opted_out' | undefined;
  }>;
  /** Secrets that must never be shown, even if the provider repeats them. */
  secrets: readonly string[];
}

const mostQuoted = 500;

/**
 * Converts a response to a result. A 2xx with an id is accepted, without one unknown. 401 and 403 refuse the credentials; 408, 429 and 5xx are
 * temporary; every other status is permanent. Without a response, the result is temporary if nothing can have been sent, otherwise unknown.
 */
export function toSendResult(result: PostResult, shape: ResponseShape): SendResult {
  const { error, status, body, retryAfterMs } = result;
  const { name } = shape;
  if (error !== undefined || status === undefined) return resultOfError(error ?? 'http', name);
  const response = parseJson(body);
  if (isSuccess(result)) {
    const id = shape.accepted.safeParse(response);
    if (id.success) return { outcome: 'accepted', providerId: id.data };
    return {
      outcome: 'unknown',
      message: `${name} responded with ${status} but no id: the message may have been sent`,
    };
  }
  const refusal = shape.refused.safeParse(response).data;
  const said = refusal ? quoted(refusal.text, shape.secrets) : '';
  const message = said === '' ? `${name} responded with ${status}` : `${name} responded with ${status}: ${said}`;
  const isTemporary = refusal?.isTemporary || status === 408 || status === 429 || status >= 500;
  if (!isTemporary && !refusal?.isOfMessage && (status === 401 || status === 403))
    return { outcome: 'refused', message };
  const reason = refusal?.reason && { reason: refusal.reason };
  if (!isTemporary) return { outcome: 'rejected', message, ...reason };
  return { outcome: 'unavailable', message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** Converts a request error to a result. Its message contains no address, since private ones must not leak. */
function resultOfError(error: PostError, name: string): SendResult {
  switch (error) {
    case 'refused':
      return { outcome: 'unavailable', message: `${name} could not be reached` };
    case 'dns':
      return { outcome: 'unavailable', message: `${name} has a host name that cannot be resolved` };
    case 'tls':
      return { outcome: 'unavailable', message: `${name} could not be reached over trusted TLS` };
    case 'blocked':
      return { outcome: 'rejected', message: `${name} is at a blocked address` };
    case 'timeout':
      return { outcome: 'unknown', message: `${name} did not respond in time: the message may have been sent` };
    case 'too_large':
      return { outcome: 'unknown', message: `${name} sent an oversized response: the message may have been sent` };
    case 'http':
      return { outcome: 'unknown', message: `${name} lost the connection: the message may have been sent` };
  }
}

/** Returns a provider's text for use within one line: without control characters and secrets, at most 500 characters. */
export function quoted(said: string, secrets: readonly string[]): string {
  const shown = secrets
    .filter((secret) => secret !== '')
    .reduce((text, secret) => text.replaceAll(secret, '[secret]'), said)
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  const characters = [...shown.slice(0, 2 * mostQuoted + 2)];
  return characters.length > mostQuoted ? `${characters.slice(0, mostQuoted).join('')}…` : shown;
}

/** A number named `id`. JSON strings escape quotes, so a match is a key or the end of a key. */
const numericId = /"id"(\s*:\s*)(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?=[\s,}])/g;

/**
 * Parses JSON; returns undefined if it is invalid. Converts numbers named `id` to strings, because many exceed the
 * precision of a number. It does so before parsing, since a reviver would be called for each of thousands of values.
 */
export function parseJson(json: string): unknown {
  try {
    return JSON.parse(json.replace(numericId, '"id"$1"$2"'));
  } catch {
    return undefined;
  }
}
