import { fetchContact } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/calendar';
import type { Body } from '@customer-platform/contracts/core';
import { formatInstant, type HandlerCall, type PrefetchCall } from '@customer-platform/service-kit';
import { holdDeal } from '../deals/deals.sql.ts';
import { fetchDeal } from '../deals/fetch-deal.ts';
import { refusalsAt } from '../free-times/free-starts.ts';
import { minuteMs } from '../free-times/local-day.ts';
import type { OfferedTeammate, OfferedType } from '../free-times/offer.sql.ts';
import { loadOffer, type Offer } from '../free-times/offer.ts';
import { implement } from '../implement.ts';
import { toAppointment } from './appointment.ts';
import { insertAppointment, type NewAppointment, remindersOf } from './appointments.sql.ts';
import { slotTakenMessage } from './slot-taken.ts';

const noSuchType = 'booking_type must be the id of a booking type that is switched on';

export const bookAppointment = implement(contract.bookAppointment, {
  async handle(call) {
    const { account, tx, body, now, emit, fail } = call;
    const { starts_at, staff } = body;
    const request = { accountId: account.id, bookingTypeId: body.booking_type, contact: body.contact, staff };
    const offer = await loadOffer(tx, { ...request, from: starts_at, to: starts_at });
    const { bookingType, settings, contact, candidates } = offer;
    const dealExists = await prefetchNamed(call, contact !== undefined);
    if (!contact || contact.deleted)
      return fail('invalid_request', 'contact must be the id of a contact of this account', 'contact');
    if (!bookingType?.active) return fail('invalid_request', noSuchType, 'booking_type');
    if (staff !== undefined && !candidates[0]?.id.in_team) {
      return fail('invalid_request', 'staff must be the email of a teammate who takes this booking type', 'staff');
    }
    if (body.deal !== undefined && !dealExists) {
      const rule = account.modules.includes('crm')
        ? 'be the id of a deal of this account'
        : 'be left out: it needs Pipelines';
      return fail('invalid_request', `deal must ${rule}`, 'deal');
    }
    if (!settings.enabled)
      return fail('invalid_state', "Appointments are switched off in the account's Calendar settings");

    const rules = { bookingType, zone: account.timezone, now: now.getTime(), startsAt: starts_at.getTime() };
    const refusals = candidates.map(refusalsAt(rules));
    const free = candidates.filter((_, index) => refusals[index]!.length === 0);
    const reminders = remindersOf(starts_at, now, bookingType, settings);
    for (const { id: teammate } of free) {
      const values = valuesOf(body, { ...offer, bookingType, contact }, teammate, now);
      const summary = `Booked ${bookingType.name} with ${teammate.name} for ${formatInstant(starts_at, account.timezone)}`;
      const entry = { kind: 'booked' as const, summary, at: now };
      const booked = await insertAppointment(tx, account.id, values, { entry, reminders });
      if (booked === 'type_gone') return fail('invalid_request', noSuchType, 'booking_type');
      if (booked === 'taken') continue;
      const appointment = toAppointment({ ...values, ...booked }, account.timezone);
      const history = [{ ...entry, at: formatInstant(now, account.timezone) }];
      const event = { appointment: { ...appointment, history } };
      emit(contract.appointmentBooked, event);
      const { enabled, channel } = settings.confirmation;
      if (enabled) emit(contract.confirmationDue, { ...event, channel, reason: 'booked' });
      return appointment;
    }
    // Free at the check but not inserted: a concurrent booking took the slot.
    const reasons: typeof refusals = free.length > 0 ? [['taken']] : refusals;
    return fail('slot_taken', slotTakenMessage(reasons, bookingType, account.timezone));
  },
});

/**
 * Returns whether the deal in the body exists; false if none is given or the account lacks Pipelines. If this service lacks a copy of the contact or
 * the deal, aborts this attempt, fetches what is missing concurrently and runs the handler again.
 */
async function prefetchNamed(call: BookingCall, isContactKnown: boolean): Promise<boolean> {
  const { account, tx, body, prefetch } = call;
  const deal = account.modules.includes('crm') ? body.deal : undefined;
  const dealExists = deal === undefined ? false : await holdDeal(tx, account.id, deal);
  const unknown: ((call: PrefetchCall) => Promise<void>)[] = [];
  if (!isContactKnown) unknown.push(fetchContact(body.contact));
  if (deal !== undefined && dealExists === undefined) unknown.push(fetchDeal(deal));
  if (unknown.length > 0)
    prefetch(async (prefetchCall) => void (await Promise.all(unknown.map((learn) => learn(prefetchCall)))));
  return dealExists ?? false;
}

type BookingCall = HandlerCall<typeof contract.bookAppointment, undefined, undefined>;
type Booking = Body<typeof contract.bookAppointment>;
type Found = Offer & { bookingType: OfferedType; contact: NonNullable<Offer['contact']> };

/** Returns the appointment to insert. Omitted strings come from the booking type, the teammate or the account. */
function valuesOf(body: Booking, offer: Found, teammate: OfferedTeammate, now: Date): NewAppointment {
  const { bookingType, settings, contact } = offer;
  const mode = bookingType.mode === 'either' ? (body.mode ?? settings.mode) : bookingType.mode;
  const place = bookingType.location || teammate.location || settings.location;
  const link = bookingType.meeting_link || teammate.meeting_link;
  const startsAt = body.starts_at.getTime();
  return {
    title: bookingType.name,
    status: body.status,
    booking_type_id: bookingType.id,
    contact_id: contact.id,
    contact_name: contact.name,
    contact_phone: contact.phone,
    staff_id: teammate.id,
    staff_name: teammate.name,
    staff_email: teammate.email,
    blocked_from: new Date(startsAt - bookingType.prep_minutes * minuteMs),
    starts_at: body.starts_at,
    ends_at: new Date(startsAt + bookingType.duration_minutes * minuteMs),
    mode,
    location: body.location ?? (mode === 'physical' ? place : ''),
    meeting_link: body.meeting_link ?? (mode === 'online' ? link : ''),
    notes: body.notes,
    source: 'api',
    deal_id: body.deal ?? null,
    created_at: now,
  };
}
