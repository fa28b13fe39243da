import { isPlatformError, isRequestError } from '../../errors.ts';
import { UsageError } from '../errors.ts';

/** The result of a tool: text for the assistant. */
export interface ToolResult {
  content: [{ type: 'text'; text: string }];
  isError?: true;
  [key: string]: unknown;
}

/** Most characters of a result, since more would fill an assistant's context. */
const mostCharacters = 100_000;

/** Returns a result with a string, or with another value as JSON. A long result is cut, and `rest` says how to get the rest. */
export function resultOf(value: unknown, rest: string): ToolResult {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text.length <= mostCharacters) return { content: [{ type: 'text', text }] };
  const cut = `${text.slice(0, mostCharacters)}\n[cut after ${mostCharacters} of ${text.length} characters; ${rest}]`;
  return { content: [{ type: 'text', text: cut }] };
}

/** Returns a result with a page from an offset on, cut if it is too long. */
export function pageResult(page: string, offset: number): ToolResult {
  const end = offset + mostCharacters;
  const text = page.slice(offset, end);
  const rest = `[${end} of ${page.length} characters so far; continue with offset ${end}]`;
  return { content: [{ type: 'text', text: end < page.length ? `${text}\n${rest}` : text }] };
}

/** Returns an error result that tells the assistant why the call was not done. */
export function failure(text: string): ToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}

/** Returns the result of a failed call. Rethrows errors that come from neither a request nor the arguments. */
export function errorResult(error: unknown): ToolResult {
  if (error instanceof UsageError) return failure(error.message);
  if (!isRequestError(error)) throw error;
  if (!isPlatformError(error)) return failure(`${error.code}: ${error.message}`);
  const { status, code, field, message, retryAfter, requestId } = error;
  const place = field === undefined ? '' : `, field ${field}`;
  const later = retryAfter === undefined ? '' : ` Try again in ${retryAfter} s.`;
  const quoted = code === 'internal_error' && requestId ? ` (request ${requestId})` : '';
  return failure(`Refused (${status} ${code}${place}): ${message}${quoted}${later}`);
}
