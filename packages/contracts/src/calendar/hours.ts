import { z } from 'zod';
import { parseInstant } from '../core/fields.ts';

const isRealDate = (value: string) =>
  /^\d{4}-\d{2}-\d{2}$/.test(value) && parseInstant(`${value}T00:00Z`) !== undefined;

/** A calendar date, YYYY-MM-DD. */
const date = z.string().refine(isRealDate, { error: 'must be a date, such as 2026-12-24' }).meta({ format: 'date' });

export const dateOrInstantRule = "A date (its first instant in the account's timezone), or a date-time with offset.";

/** A date (its first instant in the account's timezone) or a date-time with offset; kept as given. */
export const dateOrInstant = z
  .string()
  .refine((value) => isRealDate(value) || parseInstant(value) !== undefined, {
    error: 'must be a date, such as 2026-12-24, or a date-time with offset, such as 2026-12-24T09:00:00+01:00',
  })
  .meta({
    description: dateOrInstantRule,
    examples: ['2026-12-24', '2026-12-24T09:00:00+01:00'],
  });

const clock = (last: string) =>
  z.string().regex(last === '24:00' ? /^(([01]\d|2[0-3]):[0-5]\d|24:00)$/ : /^([01]\d|2[0-3]):[0-5]\d$/, {
    error: `must be a time from 00:00 to ${last} as HH:MM, with two digits each, such as 09:00`,
  });

/** One opening range of a day in local time, [start, end). The end can be "24:00". */
const openingRange = z
  .tuple([clock('23:59'), clock('24:00')], { error: 'must be a pair such as ["09:00","17:00"]' })
  .refine(([start, end]) => start < end, { error: 'must end after it starts' });

/** The opening ranges of one day. They have no id, since the Python generator would reuse its variable names for each day. */
export const openingRanges = z.array(openingRange).max(48).meta({
  description: 'Opening ranges of a day: pairs of start and end as HH:MM. The last end can be "24:00".',
});
const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
type Weekday = (typeof weekdays)[number];

function dayByDay<Schema extends z.ZodType>(schema: Schema) {
  return Object.fromEntries(weekdays.map((day) => [day, schema])) as Record<Weekday, Schema>;
}

const hoursExample = {
  mon: [
    ['09:00', '12:00'],
    ['13:00', '17:00'],
  ],
  fri: [['09:00', '24:00']],
};
const hoursRule =
  'Opening hours by weekday (`mon` to `sun`), in the account\'s timezone: pairs of start and end as HH:MM, up to "24:00".';

/** Weekly opening hours. Overlapping ranges are joined, and days left out are closed. Other keys are refused, since no such day would ever open. */
export const Hours = z
  .strictObject(dayByDay(openingRanges.optional()))
  .default({})
  .meta({ description: `${hoursRule} A day that is left out is closed.`, examples: [hoursExample] });

const changedDay = openingRanges.nullable().optional().meta({
  description: 'Opening ranges of the day: pairs of start and end as HH:MM, up to "24:00". Null closes it.',
});
/** A change of the weekly opening hours, merged by key. */
export const HoursChange = z.strictObject(dayByDay(changedDay)).meta({
  description: `${hoursRule} A day that is left out stays as it is; null closes the day.`,
  examples: [hoursExample],
});

const overridesRule =
  'Opening hours of single dates, instead of the weekly hours. An empty list closes the date. At most 1,000 dates and 64 KiB as JSON.';

/** Opening hours of single dates, instead of the weekly hours. */
export const Overrides = z
  .record(date, openingRanges)
  .refine((days) => Object.keys(days).length <= 1_000, { error: 'must have at most 1000 dates' })
  .meta({ description: overridesRule });

/** A change of these opening hours, merged by key. Null removes all dates. */
export const OverridesChange = z
  .record(date, openingRanges.nullable())
  .nullable()
  .meta({
    description: `${overridesRule} A date that is left out stays as it is; null removes a date, or all dates.`,
  });

/** Opening hours of single dates as responses show them. */
export const ShownOverrides = z
  .record(z.string(), openingRanges)
  .meta({ description: 'Opening hours of single dates, instead of the weekly hours. An empty list: closed.' });

/** Weekly opening hours as responses show them. */
export const ShownHours = z.object(dayByDay(openingRanges.optional())).meta({
  description:
    "Opening hours by weekday in the account's timezone, with overlapping ranges joined. A day that is left out is closed.",
});
