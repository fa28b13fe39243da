import type { BookingType } from '@customer-platform/contracts/calendar';
import { readUnderLock, type Sql } from '@customer-platform/service-kit';

/** Values of a booking type. */
export type BookingTypeValues = Omit<BookingType, 'id'>;

const columns = (tx: Sql) => tx`
  b.id, b.name, b.active, b.duration_minutes, b.prep_minutes, b.slot_interval_minutes, b.min_notice_minutes, b.window_days,
  b.mode, b.location, b.meeting_link, b.reminders,
  (select coalesce(json_agg(s.email order by listed.position), '[]')
   from unnest(b.staff_ids) with ordinality as listed (id, position)
   join staff s on s.account_id = b.account_id and s.id = listed.id) as staff,
  (select s.email from staff s where s.account_id = b.account_id and s.id = b.default_staff_id) as default_staff`;

/** The values of a booking type by column. Emails become teammate ids; unknown emails are omitted. */
function columnsOf(tx: Sql, accountId: string, { staff, default_staff, reminders, ...values }: BookingTypeValues) {
  return {
    ...values,
    reminders: tx.json(reminders),
    staff_ids: tx`
      array(select s.id from unnest(${staff}::text[]) with ordinality as listed (email, position)
            join staff s on s.account_id = ${accountId} and s.email = listed.email order by listed.position)`,
    default_staff_id: tx`(select id from staff where account_id = ${accountId} and email = ${default_staff})`,
  };
}

/** Returns a booking type, or undefined if the account has none with this id. */
export async function selectBookingType(tx: Sql, accountId: string, id: number) {
  const [row] = await tx<BookingType[]>`
    select ${columns(tx)} from booking_types b where b.account_id = ${accountId} and b.id = ${id}`;
  return row;
}

/**
 * Locks the booking type against other changes, then reads it. `deletion` waits for bookings in progress and blocks new ones; `change` does not
 * conflict with bookings.
 */
export async function lockBookingType(tx: Sql, accountId: string, id: number, reason: 'change' | 'deletion') {
  const strength = reason === 'deletion' ? tx`for update` : tx`for no key update`;
  const lock = tx`select 1 from booking_types where account_id = ${accountId} and id = ${id} ${strength}`;
  return await readUnderLock(lock, () => selectBookingType(tx, accountId, id));
}

/** Lists booking types newest first, after the one with id `beforeId`. */
export async function listBookingTypeRows(tx: Sql, accountId: string, beforeId: number | null, limit: number) {
  return await tx<BookingType[]>`
    select ${columns(tx)} from booking_types b
    where b.account_id = ${accountId} and (${beforeId}::bigint is null or b.id < ${beforeId}::bigint)
    order by b.id desc limit ${limit}`;
}

/** Inserts a booking type and returns its id. All emails must belong to teammates. */
export async function insertBookingType(tx: Sql, accountId: string, values: BookingTypeValues): Promise<number> {
  const [row] = await tx<{ id: number }[]>`
    insert into booking_types ${tx({ account_id: accountId, ...columnsOf(tx, accountId, values) })} returning id`;
  return row!.id;
}

/** Replaces all values of a booking type. All emails must belong to teammates. */
export async function updateBookingTypeRow(tx: Sql, accountId: string, { id, ...values }: BookingType) {
  await tx`
    update booking_types set ${tx(columnsOf(tx, accountId, values))} where account_id = ${accountId} and id = ${id}`;
}

/** Returns those emails whose teammate is still a member, even if the profile is switched off. */
export async function selectTeammates(tx: Sql, accountId: string, emails: string[]) {
  const rows = await tx<{ email: string }[]>`
    select s.email from staff s join members m on m.account_id = s.account_id and m.email = s.email
    where s.account_id = ${accountId} and s.email = any(${emails}::text[]) and m.active`;
  return new Set(rows.map((row) => row.email));
}

/**
 * Deletes a booking type, or switches it off if it has appointments. The caller must have locked the type for deletion: earlier bookings have then
 * ended and are visible, and later ones find it switched off or fail on the foreign key.
 */
export async function removeBookingType(tx: Sql, accountId: string, id: number) {
  const used = tx`exists (select 1 from appointments where account_id = ${accountId} and booking_type_id = ${id})`;
  await tx`
    with switched_off as (
      update booking_types set active = false where account_id = ${accountId} and id = ${id} and ${used}
    )
    delete from booking_types where account_id = ${accountId} and id = ${id} and not ${used}`;
}
