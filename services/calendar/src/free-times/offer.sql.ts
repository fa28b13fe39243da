import { contactNamed, type KnownContact } from '@customer-platform/contact-copy';
import type { BookingType, Staff } from '@customer-platform/contracts/calendar';
import type { Fragment, Sql } from '@customer-platform/service-kit';
import type { SettingsRow } from '../settings/settings.sql.ts';
import type { LocalRange } from './local-day.ts';

/** Starts and ends in epoch milliseconds of [start, end) ranges, merged where no appointment of the type fits between them. */
export type RangesMs = [number[], number[]];

/** A booking type with everything that determines its starts. */
export type OfferedType = Omit<BookingType, 'staff' | 'default_staff'>;

/** A teammate of a booking type. `in_team` is false after they left the account's team. */
export interface OfferedTeammate extends Omit<Staff, 'hours' | 'overrides'> {
  id: number;
  in_team: boolean;
  hours: Record<string, LocalRange[]>;
  overrides: Record<string, LocalRange[]>;
  taken: RangesMs;
  time_off: RangesMs;
}

/** The rows of an offer. `staff` is in the order of preference; missing rows are null. */
export interface OfferRows {
  booking_type: OfferedType | null;
  settings: SettingsRow | null;
  contact: KnownContact | null;
  excluded: { booking_type_id: number; duration_minutes: number; prep_minutes: number } | null;
  staff: OfferedTeammate[];
}

/** Request for an offer of the starts between `from` and `to`, both inclusive. */
export interface OfferRequest {
  accountId: string;
  bookingTypeId: number;
  from: Date;
  to: Date;
  /** Restricts the offer to this teammate. */
  staff?: string | undefined;
  contact?: string | undefined;
  /** An appointment whose time counts as free, and whose duration and preparation time are used. */
  exclude?: string | undefined;
}

/**
 * Selects the [start, end) ranges of the rows `near`, merged if the appointment does not fit between them. A teammate who is booked around the clock
 * then has one range instead of 9,000.
 */
const unitedMs = (tx: Sql, near: Fragment) => tx`
  (select json_build_array(${epochsMs(tx, tx`lower(united)`)}, ${epochsMs(tx, tx`upper(united) - o.too_short`)})
   from unnest((select range_agg(tstzrange(start, "end" + o.too_short)) from (${near}) as near (start, "end"))) as united)`;
const epochsMs = (tx: Sql, instant: Fragment) => tx`
  to_json(coalesce(array_agg(round(date_part('epoch', ${instant}) * 1000)), '{}'))`;

/** Selects only the overrides within the window, since a teammate may have 1,000 of them. */
const overridesNear = (tx: Sql) => tx`
  (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(s.overrides)
   where key between o.first_day and o.last_day)`;

/**
 * Returns everything that determines the starts in a window, in one statement. Reads by index only the appointments and time off that can overlap the
 * window.
 */
export async function selectOffer(tx: Sql, request: OfferRequest): Promise<OfferRows> {
  const { accountId, bookingTypeId, from, to, staff = null, contact = null, exclude = null } = request;
  // For a window of one start, one overlapping row of time off suffices to exclude it. 100 teammates may have 1,000 rows each.
  const mostTimeOff = from.getTime() === to.getTime() ? 1 : null;
  // One row per teammate: the driver parses rows one by one and yields to other requests in between.
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
