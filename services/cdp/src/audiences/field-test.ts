import type { Condition } from '@customer-platform/contracts/cdp';
import { numbersOfLine, toE164 } from '@customer-platform/phone-number';

/** A value bound to a placeholder. */
export type Value = string | number | Date | readonly string[];

/** Binds a value and returns its placeholder. */
export type Bind = (value: Value, type: string) => string;

export type FieldCondition = Extract<Condition, { type: 'field' }>;

const columns = new Map([
  ['name', 'c.name'],
  ['phone', 'c.phone'],
  ['email', 'c.email'],
  ['external_id', 'c.external_id'],
]);
const ordering = { gt: '>', gte: '>=', lt: '<', lte: '<=' };

/** Converts a value to its stored forms, by column, for `is` and `is_not`. A phone line has up to two numbers. */
const stored = new Map<string, (value: string, country: string) => readonly string[]>([
  ['phone', (value, country) => numbersOfLine(toE164(value, country) ?? value)],
  ['email', (value) => [value.trim().toLowerCase()]],
]);

/**
 * Returns the SQL of a condition on a field of a contact `c`; it is never null. A string is compared as text, by code point; a number or boolean only
 * with a field of its type. An unset or empty field only meets `is_not` and `is_not_set`. A phone number without a country code belongs to `country`.
 */
export function fieldTest({ name, op, value }: FieldCondition, country: string, bind: Bind): string {
  const column = columns.get(name);
  const field = column ? undefined : `(c.fields -> ${bind(name, 'text')})`;
  const text = `nullif(${column ?? `(${field} #>> '{}')`}, '')`;
  if (op === 'is_set') return `(${text} is not null)`;
  if (op === 'is_not_set') return `(${text} is null)`;
  const test = (): string => {
    if (typeof value === 'string') {
      if (op === 'contains') return `position(${bind(value, 'text')} in ${text}) > 0`;
      if (op === 'starts_with') return `starts_with(${text}, ${bind(value, 'text')})`;
      if (op === 'is' || op === 'is_not')
        return `${text} = any(${bind(stored.get(name)?.(value, country) ?? [value], 'text[]')})`;
      return `${text} collate "C" ${ordering[op]} ${bind(value, 'text')}`;
    }
    if (!field) return 'false';
    if (op === 'is' || op === 'is_not') return `${field} = ${bind(String(value), 'text')}::jsonb`;
    if (op === 'contains' || op === 'starts_with') return 'false';
    // The CASE ensures that only numbers are cast, in whatever order the planner evaluates conditions.
    const number = `case when jsonb_typeof(${field}) = 'number' then ${field}::numeric end`;
    return `${number} ${ordering[op]} ${bind(String(value), 'numeric')}`;
  };
  return `${op === 'is_not' ? 'not ' : ''}coalesce(${test()}, false)`;
}
