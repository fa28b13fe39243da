import { contactNamed, type KnownContact } from '@customer-platform/contact-copy';
import type { BookingType, Staff } from '@customer-platform/contracts/calendar';
import type { Fragment, Sql } from '@customer-platform/service-kit';
import type { SettingsRow } from '../settings/settings.sql.ts';
import type { LocalRange } from './local-day.ts';

/** Starts and ends of [start, end) ranges, in milliseconds since 1970; united where the booking type's prep and length do not fit between them. */
export type RangesMs = [number[], number[]];

/** A booking type with all that decides about starts. */
export type OfferedType = Omit<BookingType, 'staff' | 'default_staff'>;

/** A teammate as the booking type lists them; `in_team` false: removed from the account's team. */
export interface OfferedTeammate extends Omit<Staff, 'hours' | 'overrides'> {
  id: number;
  in_team: boolean;
  hours: Record<string, LocalRange[]>;
  overrides: Record<string, LocalRange[]>;
  taken: RangesMs;
  time_off: RangesMs;
}

/** The rows of an offer: `staff` in the order in which they are tried; null for what does not exist. */
export interface OfferRows {
  booking_type: OfferedType | null;
  settings: SettingsRow | null;
  contact: KnownContact | null;
  excluded: { booking_type_id: number; duration_minutes: number; prep_minutes: number } | null;
  staff: OfferedTeammate[];
}

/** Request of an offer: starts from `from` to `to`, both inclusive. */
export interface OfferRequest {
  accountId: string;
  bookingTypeId: number;
  from: Date;
  to: Date;
  /** Only this teammate. */
  staff?: string | undefined;
  contact?: string | undefined;
  /** An appointment whose own time does not count, and whose lengths do. */
  exclude?: string | undefined;
}

/**
 * Selects the [start, end) ranges of the rows `near`, united where the appointment does not fit between them: no start there is free, and a teammate who
 * is booked around the clock has one range instead of 9,000.
 */
const unitedMs = (tx: Sql, near: Fragment) => tx`
  (select json_build_array(${epochsMs(tx, tx`lower(united)`)}, ${epochsMs(tx, tx`upper(united) - o.too_short`)})
   from unnest((select range_agg(tstzrange(start, "end" + o.too_short)) from (${near}) as near (start, "end"))) as united)`;
const epochsMs = (tx: Sql, instant: Fragment) => tx`
  to_json(coalesce(array_agg(round(date_part('epoch', ${instant}) * 1000)), '{}'))`;

/** Selects the overrides of the window's dates, whose texts are made once: a teammate may have a thousand, of a hundred. */
const overridesNear = (tx: Sql) => tx`
  (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(s.overrides)
   where key between o.first_day and o.last_day)`;

/**
 * Returns everything that decides about starts in a window, in one statement whatever the number of days, teammates and
 * appointments: of these only what can overlap the window is read, by index.
 */
export async function selectOffer(tx: Sql, request: OfferRequest): Promise<OfferRows> {
  const { accountId, bookingTypeId, from, to, staff = null, contact = null, exclude = null } = request;
  // All that overlaps the window of one start refuses it: one is enough, and a hundred teammates may have a thousand each.
  const mostTimeOff = from.getTime() === to.getTime() ? 1 : null;
  // A row for each teammate: the driver parses one at a time, and others' requests go on in between.
  const [common, ...team] = await tx<(Omit<OfferRows, 'staff'> & { teammate: OfferedTeammate })[]>`
    with excluded as (
      select booking_type_id, round(date_part('epoch', ends_at - starts_at) / 60) as duration_minutes,
        round(date_part('epoch', starts_at - blocked_from) / 60) as prep_minutes
      from appointments where account_id = ${accountId} and id = ${exclude}::uuid
    ), windows as (
      select b.*,
        ${from}::timestamptz - make_interval(mins => coalesce(e.prep_minutes, b.prep_minutes)::integer) as window_start,
        ${to}::timestamptz + make_interval(mins => coalesce(e.duration_minutes, b.duration_minutes)::integer) as window_end,
        make_interval(mins => (coalesce(e.prep_minutes, b.prep_minutes) + coalesce(e.duration_minutes, b.duration_minutes))::integer)
          - interval '1 millisecond' as too_short
      from booking_types b left join excluded e on e.booking_type_id = b.id
      where b.account_id = ${accountId} and b.id = ${bookingTypeId}
    ), offered as materialized (
      -- Three extra days cover every zone and every skipped day.
      select *, to_char(window_start - interval '3 days', 'YYYY-MM-DD') as first_day,
        to_char(window_end + interval '3 days', 'YYYY-MM-DD') as last_day from windows
    ), team as (
      select s.id, s.email, m.name, s.active and m.active as active, m.active as in_team, s.hours, s.location, s.meeting_link,
        ${overridesNear(tx)} as overrides, s.id is not distinct from o.default_staff_id as is_default, listed.position,
        ${unitedMs(
          tx,
          tx`
          select blocked_from, ends_at from appointments
          where account_id = ${accountId} and staff_id = s.id
            and (status in ('requested', 'confirmed') or (status = 'completed' and holds_time))
            and starts_at > o.window_start - interval '24 hours' and starts_at < o.window_end + interval '8 hours'
            and ends_at > o.window_start and blocked_from < o.window_end
            and id is distinct from ${exclude}::uuid`,
        )} as taken,
        ${unitedMs(
          tx,
          tx`
          select starts_at, ends_at from time_off
          where account_id = ${accountId} and staff_id = s.id
            and ends_at > o.window_start and starts_at < o.window_end limit ${mostTimeOff}`,
        )} as time_off
      from offered o
      cross join unnest(o.staff_ids) with ordinality as listed (id, position)
      join staff s on s.account_id = ${accountId} and s.id = listed.id
      join members m on m.account_id = s.account_id and m.email = s.email
      where ${staff}::text is null or s.email = ${staff}::text
    )
    select
      (select to_json(o) from offered o) as booking_type,
      (select to_json(s) from settings s where s.account_id = ${accountId}) as settings,
      (select to_json(c) from (${contactNamed(tx, tx`${accountId}`, tx`${contact}::uuid`)}) as c) as contact,
      (select to_json(e) from excluded e) as excluded,
      null as teammate, true as is_default, 0 as position
    union all
    select null, null, null, null, to_json(t), t.is_default, t.position from team t
    order by is_default desc, position`;
  return { ...common!, staff: team.map(({ teammate }) => teammate) };
}
