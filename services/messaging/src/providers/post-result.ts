import { text } from '@customer-platform/contracts/core';
import { isSuccess, type PostError, type PostResult } from '@customer-platform/outbound';
import type { z } from 'zod';
import type { SendResult } from './provider.ts';

/** A provider's own id of a message: what can be stored and found again. */
export const providerId = text(200, 1)
  .refine((id) => !id.includes('\0'), { error: 'must not contain the character NUL' })
  .refine((id) => id.isWellFormed(), { error: 'must be well-formed Unicode, without lone surrogates' });

/** How the answers of one provider are read. */
export interface AnswerShape {
  /** What messages for people call it. */
  name: string;
  /** The id in an answer that takes the message. */
  accepted: z.ZodType<string>;
  /** What a refusal says; where it is temporary, it is so whatever its status. */
  refused: z.ZodType<{ text: string; isTemporary?: boolean | undefined }>;
  /** What must never be shown, though the provider repeats it. */
  secrets: readonly string[];
}

const mostQuoted = 500;

/**
 * What an answer means for the message: 2xx with an id took it, without one it may have; 408, 429 and 5xx are temporary, every other
 * status is for good. Where no answer came it is temporary if nothing can have been sent, and unknown otherwise.
 */
export function toSendResult(result: PostResult, shape: AnswerShape): SendResult {
  const { error, status, body, retryAfterMs } = result;
  const { name } = shape;
  if (error !== undefined || status === undefined) return resultOfError(error ?? 'http', name);
  const answer = parseJson(body);
  if (isSuccess(result)) {
    const id = shape.accepted.safeParse(answer);
    if (id.success) return { outcome: 'accepted', providerId: id.data };
    return {
      outcome: 'unknown',
      message: `${name} responded with ${status} but no id: the message may have been sent`,
    };
  }
  const refusal = shape.refused.safeParse(answer).data;
  const said = refusal ? quoted(refusal.text, shape.secrets) : '';
  const message = said === '' ? `${name} responded with ${status}` : `${name} responded with ${status}: ${said}`;
  const isTemporary = refusal?.isTemporary || status === 408 || status === 429 || status >= 500;
  if (!isTemporary) return { outcome: 'rejected', message };
  return { outcome: 'unavailable', message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** Addresses are not named: where a name leads inside is nobody's business outside. */
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
      return { outcome: 'unknown', message: `${name} sent too long a response: the message may have been sent` };
    case 'http':
      return { outcome: 'unknown', message: `${name} lost the connection: the message may have been sent` };
  }
}

/** What a provider said, as part of one line: without control characters and secrets, at most 500 characters. */
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

type ParseWithSource = (
  text: string,
  reviver: (name: string, value: unknown, context: { source?: string }) => unknown,
) => unknown;

/**
 * Parses JSON; undefined where it is none. Numbers named `id` come as the text that they were written with: those of many providers
 * are longer than a number is exact.
 */
export function parseJson(json: string): unknown {
  try {
    return (JSON.parse as ParseWithSource)(json, (name, value, { source }) =>
      name === 'id' && typeof value === 'number' ? source : value,
    );
  } catch {
    return undefined;
  }
}
