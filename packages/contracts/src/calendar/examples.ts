import { lenaSummary } from '../cdp/examples.ts';
import type { EventExamplesOf, ExamplesOf } from '../core/examples.ts';
import { onePage } from '../core/examples.ts';
import type * as events from './events.ts';
import type * as operations from './operations.ts';
import type {
  Appointment,
  AppointmentStatus,
  AppointmentWithHistory,
  BookingType,
  HistoryEntry,
  Settings,
  Staff,
  TimeOff,
} from './resources.ts';
import type * as setupOperations from './setup-operations.ts';

/** Mira, the stylist of all examples. */
const mira = { name: 'Mira Klein', email: 'mira@salon-aurora.example' };
const address = 'Rosenweg 12, 10115 Berlin';

const cut: BookingType = {
  id: 1,
  name: 'Cut and blow-dry',
  active: true,
  duration_minutes: 45,
  prep_minutes: 5,
  slot_interval_minutes: 15,
  min_notice_minutes: 120,
  window_days: 90,
  mode: 'physical',
  location: address,
  meeting_link: '',
  staff: [mira.email],
  default_staff: mira.email,
  reminders: [{ minutes_before: 1_440, channel: 'whatsapp' }],
};

const staff: Staff = {
  name: mira.name,
  email: mira.email,
  active: true,
  hours: {
    tue: [['09:00', '18:00']],
    wed: [['09:00', '18:00']],
    thu: [['11:00', '20:00']],
    fri: [['09:00', '18:00']],
    sat: [['09:00', '14:00']],
  },
  overrides: { '2025-12-24': [] },
  location: '',
  meeting_link: '',
};

const timeOff: TimeOff = {
  id: '019a9c90-1f4b-7b23-8e7f-8091a2b3c4d0',
  from: '2025-12-28T00:00:00+01:00',
  to: '2026-01-02T00:00:00+01:00',
  reason: 'Winter holidays',
};

const settings: Settings = {
  enabled: true,
  mode: 'physical',
  location: address,
  confirmation: { enabled: true, channel: 'whatsapp' },
  reminders: [{ minutes_before: 1_440, channel: 'whatsapp' }],
};

const appointment: Appointment = {
  id: '019a9c92-6b0d-7c84-9f80-91a2b3c4d5e0',
  title: cut.name,
  status: 'confirmed',
  booking_type: { id: cut.id, name: cut.name },
  contact: lenaSummary,
  staff: mira,
  starts_at: '2025-11-25T10:00:00+01:00',
  ends_at: '2025-11-25T10:45:00+01:00',
  mode: 'physical',
  location: address,
  meeting_link: '',
  notes: 'Wants to try a fringe.',
  source: 'api',
  deal: null,
  created_at: '2025-11-18T09:14:52+01:00',
  updated_at: '2025-11-18T09:14:52+01:00',
};
const booked: HistoryEntry = {
  kind: 'booked',
  summary: 'Booked Cut and blow-dry with Mira Klein for 2025-11-25T10:00:00+01:00',
  at: appointment.created_at,
};

/** Lena's next visit. */
export const appointmentWithHistory: AppointmentWithHistory = { ...appointment, history: [booked] };

const changedAt = '2025-11-20T12:00:09+01:00';
const inStatus = (status: AppointmentStatus): Appointment => ({ ...appointment, status, updated_at: changedAt });
const edited: Appointment = {
  ...appointment,
  location: 'Rosenweg 12, first floor, 10115 Berlin',
  updated_at: changedAt,
};
const moved: Appointment = {
  ...appointment,
  starts_at: '2025-11-26T15:30:00+01:00',
  ends_at: '2025-11-26T16:15:00+01:00',
  updated_at: changedAt,
};
const after = (changed: Appointment, kind: HistoryEntry['kind'], summary: string): AppointmentWithHistory => ({
  ...changed,
  history: [booked, { kind, summary, at: changedAt }],
});

export const calendarExamples: ExamplesOf<typeof operations & typeof setupOperations> = {
  bookAppointment: {
    body: {
      contact: lenaSummary.id,
      booking_type: cut.id,
      starts_at: appointment.starts_at,
      staff: mira.email,
      notes: appointment.notes,
    },
    response: appointment,
  },
  listAppointments: { response: onePage(appointment) },
  getAppointment: { response: appointmentWithHistory },
  updateAppointment: { body: { location: edited.location }, response: edited },
  rescheduleAppointment: { body: { starts_at: moved.starts_at }, response: moved },
  confirmAppointment: { response: inStatus('confirmed') },
  completeAppointment: { body: { note: 'Fringe it is.' }, response: inStatus('completed') },
  cancelAppointment: { body: { reason: 'Lena is ill.' }, response: inStatus('cancelled') },
  markNoShow: { body: { note: 'Could not be reached by phone.' }, response: inStatus('no_show') },
  listFreeTimes: {
    response: {
      booking_type: { id: cut.id, name: cut.name },
      timezone: 'Europe/Berlin',
      data: [{ starts_at: appointment.starts_at, ends_at: appointment.ends_at, staff: [mira] }],
      has_more: false,
      next: null,
    },
  },
  explainFreeTime: { response: { free: false, reasons: [{ staff: mira.email, code: 'taken' }] } },

  listBookingTypes: { response: onePage(cut) },
  createBookingType: {
    body: {
      name: cut.name,
      duration_minutes: 45,
      prep_minutes: 5,
      slot_interval_minutes: 15,
      min_notice_minutes: 120,
      window_days: 90,
      mode: 'physical',
      location: address,
      staff: [mira.email],
      default_staff: mira.email,
      reminders: [{ minutes_before: 1_440, channel: 'whatsapp' }],
    },
    response: cut,
  },
  getBookingType: { response: cut },
  updateBookingType: { body: { duration_minutes: 60 }, response: { ...cut, duration_minutes: 60 } },
  listStaff: { response: onePage(staff) },
  createStaff: {
    body: {
      email: mira.email,
      hours: {
        tue: [['09:00', '18:00']],
        wed: [['09:00', '18:00']],
        thu: [['11:00', '20:00']],
        fri: [['09:00', '18:00']],
        sat: [['09:00', '14:00']],
      },
      overrides: { '2025-12-24': [] },
    },
    response: staff,
  },
  getStaff: { response: staff },
  updateStaff: {
    body: { hours: { mon: [['10:00', '16:00']] }, overrides: { '2025-12-31': [['09:00', '12:00']] } },
    response: {
      ...staff,
      hours: { mon: [['10:00', '16:00']], ...staff.hours },
      overrides: { ...staff.overrides, '2025-12-31': [['09:00', '12:00']] },
    },
  },
  listTimeOff: { response: onePage(timeOff) },
  createTimeOff: { body: { from: '2025-12-28', to: '2026-01-02', reason: 'Winter holidays' }, response: timeOff },
  getSettings: { response: settings },
  updateSettings: {
    body: { mode: 'physical', location: address, confirmation: { enabled: true, channel: 'whatsapp' } },
    response: settings,
  },
};

export const calendarEventExamples: EventExamplesOf<typeof events> = {
  appointmentBooked: { appointment: appointmentWithHistory },
  appointmentRescheduled: {
    appointment: after(
      moved,
      'rescheduled',
      `Moved from ${appointment.starts_at} with Mira Klein to ${moved.starts_at} with Mira Klein`,
    ),
    previous: { starts_at: appointment.starts_at, ends_at: appointment.ends_at },
  },
  appointmentUpdated: {
    appointment: after(edited, 'edited', `Changed location from “${address}” to “${edited.location}”`),
    previous: { location: address },
  },
  appointmentConfirmed: {
    appointment: after(inStatus('confirmed'), 'confirmed', 'Status changed from requested to confirmed'),
    previous: { status: 'requested' },
  },
  appointmentCompleted: {
    appointment: after(inStatus('completed'), 'completed', 'Status changed from confirmed to completed: Fringe it is.'),
    previous: { status: 'confirmed' },
  },
  appointmentCancelled: {
    appointment: after(inStatus('cancelled'), 'cancelled', 'Status changed from confirmed to cancelled: Lena is ill.'),
    previous: { status: 'confirmed' },
  },
  appointmentNoShow: {
    appointment: after(
      inStatus('no_show'),
      'no_show',
      'Status changed from confirmed to no_show: Could not be reached by phone.',
    ),
    previous: { status: 'confirmed' },
  },
};
