import { contactColumns, idsOfContact, joinContact } from '@customer-platform/contact-copy';
import type {
  Appointment,
  AppointmentStatus,
  BookingType,
  HistoryEntry,
  Settings,
} from '@customer-platform/contracts/calendar';
import {
  brokenConstraint,
  type ChangePage,
  changePosition,
  changeTime,
  type Fragment,
  isChangeOf,
  type PageBounds,
  readUnderLock,
  type Sql,
} from '@customer-platform/service-kit';
import { minuteMs } from '../free-times/local-day.ts';

/** An appointment with the shown values of its contact (the surviving one, if merged) and its teammate. */
export interface AppointmentRow extends Pick<Appointment, CommonColumn> {
  booking_type_id: number;
  contact_id: string;
  contact_name: string;
  contact_phone: string;
  staff_id: number;
  staff_name: string;
  staff_email: string;
  blocked_from: Date;
  starts_at: Date;
  ends_at: Date;
  deal_id: string | null;
  created_at: Date;
  updated_at: Date;
}

type CommonColumn = 'id' | 'title' | 'status' | 'mode' | 'location' | 'meeting_link' | 'notes' | 'source';

/** An entry in the history of an appointment. */
export type HistoryRow = Omit<HistoryEntry, 'at'> & { at: Date };

/** An appointment with its history, oldest first. */
export type AppointmentRowWithHistory = AppointmentRow & { history: HistoryRow[] };

/** The deal of an appointment, or null if it was deleted; the row keeps the id of a deleted deal. */
const dealId = (tx: Sql) => tx`
  case when a.deal_id is not null then (
    select d.id from deals d where d.account_id = a.account_id and d.id = a.deal_id and not d.deleted) end as deal_id`;

export const columns = (tx: Sql) => tx`
  a.id, a.title, a.status, a.booking_type_id, a.staff_id, a.blocked_from, a.starts_at, a.ends_at, a.mode, a.location,
  a.meeting_link, a.notes, a.source, ${dealId(tx)}, a.created_at, a.updated_at, s.email as staff_email, m.name as staff_name,
  ${contactColumns(tx)}`;

/** Joins the teammate and the contact of each appointment, and the surviving contact, if merged. */
export const joins = (tx: Sql) => tx`
  join staff s on s.account_id = a.account_id and s.id = a.staff_id
  join members m on m.account_id = s.account_id and m.email = s.email
  ${joinContact(tx, 'a')}`;

export const history = (tx: Sql) => tx`
  (select coalesce(json_agg(json_build_object('kind', h.kind, 'summary', h.summary, 'at', h.at) order by h.position), '[]')
   from appointment_history h where h.account_id = a.account_id and h.appointment_id = a.id) as history`;

/** Returns an appointment, or undefined if the account has none with this id. */
export async function selectAppointment(tx: Sql, accountId: string, id: string) {
  const [row] = await tx<(AppointmentRow & { history: JsonHistory })[]>`
    select ${columns(tx)}, ${history(tx)} from appointments a ${joins(tx)}
    where a.account_id = ${accountId} and a.id = ${id}`;
  return row && { ...row, history: datedHistory(row.history) };
}

type JsonHistory = (Omit<HistoryRow, 'at'> & { at: string })[];

/** Converts the times of a history selected by `history` to dates. */
export function datedHistory(rows: JsonHistory): HistoryRow[] {
  return rows.map((entry) => ({ ...entry, at: new Date(entry.at) }));
}

/** Locks the appointment against other changes, then reads it. */
export async function lockAppointment(tx: Sql, accountId: string, id: string) {
  const lock = tx`select 1 from appointments where account_id = ${accountId} and id = ${id} for update`;
  return await readUnderLock(lock, () => selectAppointment(tx, accountId, id));
}

/** Filter of a list. `from` is inclusive, `to` exclusive. */
export interface AppointmentFilter {
  from?: Date | undefined;
  to?: Date | undefined;
  status?: AppointmentStatus | undefined;
  /** A contact that is not merged into another. Appointments of contacts merged into it are included. */
  contactId?: string | undefined;
  staffId?: number | undefined;
  bookingTypeId?: number | undefined;
}

const isIn = (tx: Sql, { from, to, status, staffId, bookingTypeId }: AppointmentFilter) => tx`
  ${from ? tx`and a.starts_at >= ${from}` : tx``} ${to ? tx`and a.starts_at < ${to}` : tx``}
  ${status ? tx`and a.status = ${status}` : tx``}
  ${staffId ? tx`and a.staff_id = ${staffId}` : tx``}
  ${bookingTypeId ? tx`and a.booking_type_id = ${bookingTypeId}` : tx``}`;

/**
 * Lists appointments after `after`, latest start first. The page is limited before the joins; otherwise the planner may join all rows first. For a
 * contact, reads one page for each of its ids (its own and merged ones), since sorting all its appointments would be slow.
 */
export async function listAppointmentRows(
  tx: Sql,
  accountId: string,
  filter: AppointmentFilter,
  { after, limit }: PageBounds<Pick<AppointmentRow, 'id' | 'starts_at'>>,
) {
  const { contactId } = filter;
  const page = (further: Fragment) => tx`
    select * from appointments a
    where a.account_id = ${accountId} ${further} ${isIn(tx, filter)}
    ${after ? tx`and (a.starts_at, a.id) < (${after.starts_at}, ${after.id})` : tx``}
    order by a.starts_at desc, a.id desc limit ${limit}`;
  const pageOfContact = (id: string) => tx`
    select a.* from (${idsOfContact(tx, accountId, id)}) as named
    cross join lateral (${page(tx`and a.contact_id = named.id`)}) as a
    order by a.starts_at desc, a.id desc limit ${limit}`;
  return await tx<AppointmentRow[]>`
    select ${columns(tx)} from (${contactId ? pageOfContact(contactId) : page(tx``)}) as a ${joins(tx)}
    order by a.starts_at desc, a.id desc`;
}

/** Returns appointments of a list by `updated_since`, least recently changed first. */
export async function listChangedAppointments(tx: Sql, accountId: string, filter: AppointmentFilter, page: ChangePage) {
  const { contactId } = filter;
  return await tx<(AppointmentRow & { position: string })[]>`
    select ${columns(tx)}, ${changePosition(tx, 'a')} as position from (
      select * from appointments a
      where a.account_id = ${accountId} and ${isChangeOf(tx, 'a', page)} ${isIn(tx, filter)}
      ${contactId ? tx`and a.contact_id = any(array(${idsOfContact(tx, accountId, contactId)}))` : tx``}
      order by a.updated_at, a.id limit ${page.limit}
    ) as a ${joins(tx)}
    order by a.updated_at, a.id`;
}

/** Returns the position of an appointment in the list, or undefined if the account has none with this id. */
export async function selectCursor(tx: Sql, accountId: string, id: string) {
  const [row] = await tx<Pick<AppointmentRow, 'id' | 'starts_at'>[]>`
    select id, starts_at from appointments where account_id = ${accountId} and id = ${id}`;
  return row;
}

/**
 * Inserts an appointment with its history entry and reminders. Returns its id and change time, or 'taken' if another one holds the teammate's time. A
 * taken time raises no error, so the transaction can try another teammate. Returns 'type_gone' if the booking type was deleted meanwhile; the
 * transaction is then aborted.
 */
export async function insertAppointment(
  tx: Sql,
  accountId: string,
  row: NewAppointment,
  { entry, reminders }: { entry: HistoryRow; reminders: readonly Reminder[] },
): Promise<Pick<AppointmentRow, 'id' | 'updated_at'> | 'taken' | 'type_gone'> {
  const { contact_name, contact_phone, staff_name, staff_email, ...values } = row;
  const added = { account_id: accountId, ...values, updated_at: changeTime(tx, accountId, row.created_at) };
  const booked = tx<Pick<AppointmentRow, 'id' | 'updated_at'>[]>`
    with booked as (
      insert into appointments ${tx(added)} on conflict do nothing returning id, updated_at
    ), noted as (
      insert into appointment_history (account_id, appointment_id, kind, summary, at)
      select ${accountId}, id, ${entry.kind}, ${entry.summary}, ${entry.at} from booked
    ), reminded as (
      insert into reminders (account_id, appointment_id, channel, minutes_before, due_at)
      select ${accountId}, booked.id, due.* from booked cross join ${reminderRows(tx, reminders)}
    )
    select id, updated_at from booked`;
  try {
    return (await booked)[0] ?? 'taken';
  } catch (error) {
    if (brokenConstraint(error) === 'appointments_booking_type_fkey') return 'type_gone';
    throw error;
  }
}

/** Values of a new appointment. */
export type NewAppointment = Omit<AppointmentRow, 'id' | 'updated_at'>;

/** The exclusion constraints against overlaps: for rows without `holds_time`, and for the others. */
const overlapConstraints: unknown[] = ['appointments_no_overlap', 'appointments_hold_time'];

/** Locks teammates in id order. All code that moves appointments does so, which avoids deadlocks. */
export async function lockTeammates(tx: Sql, accountId: string, emails: string[]) {
  await tx`
    select 1 from staff where account_id = ${accountId} and email = any(${emails}::text[]) order by id for no key update`;
}

/**
 * Moves an appointment to the teammate and times of `move`, with its history entry and reminders. Returns the change time, or undefined if another
 * appointment holds the time; the transaction is then aborted.
 */
export async function moveAppointment(
  tx: Sql,
  accountId: string,
  move: Pick<AppointmentRow, 'id' | 'staff_id' | 'blocked_from' | 'starts_at' | 'ends_at'>,
  { entry, reminders }: { entry: HistoryRow; reminders: readonly Reminder[] },
): Promise<Date | undefined> {
  const { id, staff_id, blocked_from, starts_at, ends_at } = move;
  try {
    const [moved] = await tx<Pick<AppointmentRow, 'updated_at'>[]>`
      with noted as (${insertEntry(tx, accountId, id, entry)}), dropped as (
        delete from reminders where account_id = ${accountId} and appointment_id = ${id}
      ), reminded as (
        insert into reminders (account_id, appointment_id, channel, minutes_before, due_at)
        select ${accountId}, ${id}, due.* from ${reminderRows(tx, reminders)}
      )
      update appointments set staff_id = ${staff_id}, blocked_from = ${blocked_from}, starts_at = ${starts_at},
        ends_at = ${ends_at}, updated_at = ${changeTime(tx, accountId, entry.at)}
      where account_id = ${accountId} and id = ${id}
      returning updated_at`;
    return moved!.updated_at;
  } catch (error) {
    if (overlapConstraints.includes(brokenConstraint(error))) return undefined;
    throw error;
  }
}

/** Changes the status with a history entry. Deletes pending reminders if the appointment ends. Returns the change time. */
export async function changeStatusRow(
  tx: Sql,
  accountId: string,
  { id, status }: { id: string; status: AppointmentStatus },
  entry: HistoryRow,
): Promise<Date> {
  const isAhead = status === 'requested' || status === 'confirmed';
  const [changed] = await tx<Pick<AppointmentRow, 'updated_at'>[]>`
    with noted as (${insertEntry(tx, accountId, id, entry)}), dropped as (
      delete from reminders where account_id = ${accountId} and appointment_id = ${id} and not ${isAhead}::boolean
    )
    update appointments set status = ${status}, updated_at = ${changeTime(tx, accountId, entry.at)}
    where account_id = ${accountId} and id = ${id} returning updated_at`;
  return changed!.updated_at;
}

/** Changes details of an appointment, without a history entry if only the notes change. Returns the change time. */
export async function editAppointment(
  tx: Sql,
  accountId: string,
  row: AppointmentRow,
  entry: HistoryRow | undefined,
  now: Date,
): Promise<Date> {
  const { id, mode, location, meeting_link, notes } = row;
  const [edited] = await tx<Pick<AppointmentRow, 'updated_at'>[]>`
    ${entry ? tx`with noted as (${insertEntry(tx, accountId, id, entry)})` : tx``}
    update appointments set mode = ${mode}, location = ${location}, meeting_link = ${meeting_link}, notes = ${notes},
      updated_at = ${changeTime(tx, accountId, now)}
    where account_id = ${accountId} and id = ${id} returning updated_at`;
  return edited!.updated_at;
}

const insertEntry = (tx: Sql, accountId: string, id: string, { kind, summary, at }: HistoryRow) => tx`
  insert into appointment_history (account_id, appointment_id, kind, summary, at)
  values (${accountId}, ${id}, ${kind}, ${summary}, ${at})`;

const reminderRows = (tx: Sql, reminders: readonly Reminder[]) => tx`
  jsonb_to_recordset(${tx.json(reminders)}::jsonb) as due (channel text, minutes_before integer, due_at timestamptz)`;

/** A reminder to the contact, due at `due_at`. */
export type Reminder = Settings['reminders'][number] & { due_at: Date };

/**
 * Returns the future reminders of an appointment booked or moved at `now`. They come from the booking type, or from the account if the type has none.
 */
export function remindersOf(
  startsAt: Date,
  now: Date,
  bookingType: Pick<BookingType, 'reminders'>,
  settings: Settings,
): Reminder[] {
  const reminders = bookingType.reminders.length > 0 ? bookingType.reminders : settings.reminders;
  const dated = reminders.map(({ channel, minutes_before }) => {
    return { channel, minutes_before, due_at: new Date(startsAt.getTime() - minutes_before * minuteMs) };
  });
  return dated.filter(({ due_at }) => due_at > now);
}
