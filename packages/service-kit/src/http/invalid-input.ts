import { ApiError, firstCodePoints } from '@customer-platform/contracts/core';
import type { z } from 'zod';

/** Returns the issue of the shape that a union value comes nearest to: the one with the deepest path. */
export function nearest(issue: z.core.$ZodIssue, given: unknown): z.core.$ZodIssue {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return issue;
  const value = valueAt(given, issue.path);
  // If no shape has the value's type, the message of the union itself names all valid types.
  const isOfNoType = issue.errors.every(([first]) => first!.code === 'invalid_type' && first!.path.length === 0);
  if (isOfNoType && issue.message.startsWith('must')) return issue;
  const candidates = issue.errors.map(([first]) => nearest(first!, value));
  // A missing field is a weaker hint than one that exists and is wrong.
  const depthOf = ({ path }: z.core.$ZodIssue) => path.length - (valueAt(value, path) === undefined ? 0.5 : 0);
  const best = candidates.reduce((one, other) => (depthOf(other) > depthOf(one) ? other : one));
  return { ...best, path: [...issue.path, ...best.path] };
}

/** Returns what would be right, to follow the path in a message. Messages of the contracts begin with "must". */
export function describe(issue: z.core.$ZodIssue, input: unknown): string {
  const isMissing = valueAt(input, issue.path) === undefined;
  if (isMissing && issue.code !== 'custom') return 'is required';
  if (issue.message.startsWith('must')) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${withArticle(issue.expected)}`;
    case 'invalid_value':
      return `must be ${issue.values.map(String).join(' or ')}`;
    case 'too_small':
      return `must ${sizeOf(issue.origin, 'at least', Number(issue.minimum))}`;
    case 'too_big':
      return `must ${sizeOf(issue.origin, 'at most', Number(issue.maximum))}`;
    case 'invalid_key':
      return `must have valid keys: each ${describe(issue.issues[0]!, input)}`;
    default:
      return `is invalid: ${issue.message}`;
  }
}

/** Returns the value at a path. If a schema reads a string as a list, returns the string. */
function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const key of path) {
    if (typeof value === 'string') return value;
    value = value == null ? undefined : (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}

function withArticle(expected: string): string {
  if (expected === 'int' || expected === 'number') return 'an integer';
  if (expected === 'record') return 'an object';
  return /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}

function sizeOf(origin: string, bound: 'at least' | 'at most', count: number): string {
  if (origin === 'array' || origin === 'set') return `have ${bound} ${entries(count)}`;
  if (origin === 'string') return `be ${bound} ${count} ${count === 1 ? 'character' : 'characters'} long`;
  return `be ${bound} ${count}`;
}

/** Formats a number of entries for messages. */
export function entries(count: number): string {
  return count === 1 ? '1 entry' : `${count} entries`;
}

/** Formats a path for messages: `rules.conditions[2].days`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : index ? `.${String(key)}` : String(key)))
    .join('');
}

/** Returns the refusal of the value at a path. Shows only 100 characters of each key, since callers choose keys. */
export function invalidAt(full: readonly PropertyKey[], rule: string): ApiError {
  const path = full.map((key) => (typeof key === 'string' ? firstCodePoints(key.toWellFormed(), 100) : key));
  const field = path.length === 0 ? 'body' : String(path[0]);
  return invalid(field, `${path.length === 0 ? 'body' : pathText(path)} ${rule}`);
}

export function invalid(field: string, message: string, cause?: unknown): ApiError {
  return new ApiError('invalid_request', message, { field, cause });
}
