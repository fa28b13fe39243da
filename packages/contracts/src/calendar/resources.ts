import { z } from 'zod';
import { ContactSummary } from '../cdp/resources.ts';
import { channel } from '../core/channel.ts';
import { clearable, email, instant, integerId, text, timestamp, uuid } from '../core/fields.ts';
import { dateOrInstant, Hours, HoursChange, Overrides, OverridesChange, openingRanges, ShownHours } from './hours.ts';

export const appointmentStatus = z.enum(['requested', 'confirmed', 'completed', 'cancelled', 'no_show']);
export type AppointmentStatus = z.infer<typeof appointmentStatus>;

/** Kind of meeting. */
export const mode = z.enum(['online', 'physical'], { error: 'must be online or physical' });
export const bookingTypeMode = z.enum(['online', 'physical', 'either']);
/** The channels of reminders and confirmations. */
export const reminderChannel = z.enum(channel.options);

const location = text(255);
const meetingLink = text(500);
const notes = text(5_000);

const Reminder = z
  .object({ minutes_before: z.int().min(1).max(43_200), channel: reminderChannel })
  .meta({ id: 'Reminder' });
const reminders = z.array(Reminder).max(10).meta({ description: 'Reminders sent before the start, at most 10.' });

export const BookingTypeInput = z.object({
  name: text(120, 1),
  active: z.boolean().default(true),
  duration_minutes: z.int().min(5).max(1_440),
  prep_minutes: z.int().min(0).max(480).default(0).meta({ description: 'Minutes kept free before the start.' }),
  slot_interval_minutes: z
    .int()
    .min(5)
    .max(1_440)
    .refine((minutes) => 1_440 % minutes === 0, { error: 'must be a divisor of 1440' })
    .optional()
    .meta({ description: 'Minutes between starts, from local midnight; default: the duration, at most 30.' }),
  min_notice_minutes: z.int().min(0).max(43_200).default(0),
  window_days: z.int().min(1).max(365).default(60),
  mode: bookingTypeMode.default('online'),
  location: location.default(''),
  meeting_link: meetingLink.default(''),
  staff: z.array(email).max(100).default([]).meta({ description: 'Emails of the teammates who take it, in order.' }),
  default_staff: email.optional().meta({ description: 'Email address of the teammate tried first; one of `staff`.' }),
  reminders: reminders.default([]).meta({ description: "Empty: the account's reminders." }),
});

/** Body of PATCH; null or an empty string for `default_staff` removes it. */
export const BookingTypeChange = z.object({
  name: text(120, 1).optional(),
  active: z.boolean().optional(),
  duration_minutes: z.int().min(5).max(1_440).optional(),
  prep_minutes: z.int().min(0).max(480).optional(),
  slot_interval_minutes: BookingTypeInput.shape.slot_interval_minutes,
  min_notice_minutes: z.int().min(0).max(43_200).optional(),
  window_days: z.int().min(1).max(365).optional(),
  mode: bookingTypeMode.optional(),
  location: clearable(location, ''),
  meeting_link: clearable(meetingLink, ''),
  staff: clearable(z.array(email).max(100), []),
  default_staff: clearable(email.or(z.literal('')), ''),
  reminders: clearable(reminders, []),
});

export const BookingType = z
  .object({
    id: z.int(),
    name: z.string(),
    active: z.boolean(),
    duration_minutes: z.int(),
    prep_minutes: z.int(),
    slot_interval_minutes: z.int(),
    min_notice_minutes: z.int(),
    window_days: z.int(),
    mode: bookingTypeMode,
    location: z.string(),
    meeting_link: z.string(),
    staff: z.array(z.string()),
    default_staff: z.string().nullable(),
    reminders: z.array(Reminder),
  })
  .meta({ id: 'BookingType' });
export type BookingType = z.infer<typeof BookingType>;

export const StaffInput = z.object({
  email: email.meta({ description: 'Email address of a team member.' }),
  active: z.boolean().default(true),
  hours: Hours,
  overrides: Overrides.default({}),
  location: location.default(''),
  meeting_link: meetingLink.default(''),
});

/** Body of PATCH: `hours` and `overrides` merge by key, null removes a key, and all overrides. */
export const StaffChange = z.object({
  active: z.boolean().optional(),
  hours: HoursChange.optional(),
  overrides: OverridesChange.nullable().optional(),
  location: clearable(location, ''),
  meeting_link: clearable(meetingLink, ''),
});

export const Staff = z
  .object({
    name: z.string(),
    email: z.string(),
    active: z.boolean().meta({ description: 'Whether the teammate takes bookings.' }),
    hours: ShownHours,
    overrides: z.record(z.string(), openingRanges),
    location: z.string(),
    meeting_link: z.string(),
  })
  .meta({ id: 'Staff' });
export type Staff = z.infer<typeof Staff>;

export const TimeOffInput = z.object({
  from: dateOrInstant,
  to: dateOrInstant.meta({ description: 'End, exclusive; after `from`.' }),
  reason: text(200).default(''),
});

export const TimeOff = z
  .object({ id: z.guid(), from: timestamp, to: timestamp, reason: z.string() })
  .meta({ id: 'TimeOff' });
export type TimeOff = z.infer<typeof TimeOff>;

export const SettingsChange = z.object({
  enabled: z.boolean().optional().meta({ description: 'Whether appointments can be booked.' }),
  mode: mode.optional().meta({ description: "For booking types whose mode is 'either'." }),
  location: clearable(location, ''),
  confirmation: z.object({ enabled: z.boolean().optional(), channel: reminderChannel.optional() }).optional(),
  reminders: clearable(reminders, []),
});

export const Settings = z
  .object({
    enabled: z.boolean(),
    mode,
    location: z.string(),
    confirmation: z.object({ enabled: z.boolean(), channel: reminderChannel }),
    reminders: z.array(Reminder),
  })
  .meta({ id: 'CalendarSettings' });
export type Settings = z.infer<typeof Settings>;

export const AppointmentInput = z.object({
  contact: uuid,
  booking_type: integerId,
  starts_at: instant,
  staff: email.optional().meta({ description: 'Default: the first free teammate, trying the default teammate first.' }),
  status: z.enum(['confirmed', 'requested'], { error: 'must be confirmed or requested' }).default('confirmed'),
  mode: mode.optional(),
  location: location.optional(),
  meeting_link: meetingLink.optional(),
  notes: notes.default(''),
  deal: uuid.optional().meta({ description: 'A deal of this account; needs Pipelines.' }),
});

const moved = (name: string) =>
  z
    .unknown()
    .optional()
    .meta({ description: `Refused: ${name} changes only by reschedule or a status operation.` });

export const AppointmentChange = z
  .object({
    notes: notes.optional(),
    location: location.optional(),
    meeting_link: meetingLink.optional(),
    mode: mode.optional(),
    starts_at: moved('starts_at'),
    ends_at: moved('ends_at'),
    staff: moved('staff'),
    status: moved('status'),
  })
  .superRefine((change, context) => {
    for (const name of ['starts_at', 'ends_at', 'staff', 'status'] as const) {
      if (change[name] === undefined) continue;
      const operation = name === 'status' ? 'confirm, complete, cancel or no_show' : 'reschedule';
      context.addIssue({ code: 'custom', path: [name], message: `must not be changed here; use ${operation}` });
    }
  });

export const appointmentSource = z.enum(['panel', 'inbox', 'agent', 'workflow', 'link', 'api']);

export const HistoryEntry = z
  .object({
    kind: z.enum(['booked', 'rescheduled', 'edited', 'confirmed', 'completed', 'cancelled', 'no_show']),
    summary: z.string(),
    at: timestamp,
  })
  .meta({ id: 'AppointmentHistoryEntry' });
export type HistoryEntry = z.infer<typeof HistoryEntry>;

/** A booking type as appointments show it. */
const BookingTypeSummary = z.object({ id: z.int(), name: z.string() }).meta({ id: 'BookingTypeSummary' });
/** A teammate as appointments and free times show it. */
const StaffSummary = z.object({ name: z.string(), email: z.string() }).meta({ id: 'StaffSummary' });

export const Appointment = z
  .object({
    id: z.guid(),
    title: z.string().meta({ description: 'Name of the booking type when it was booked.' }),
    status: appointmentStatus,
    booking_type: BookingTypeSummary.nullable(),
    contact: ContactSummary,
    staff: StaffSummary,
    starts_at: timestamp,
    ends_at: timestamp,
    mode,
    location: z.string(),
    meeting_link: z.string(),
    notes: z.string(),
    source: appointmentSource,
    deal: z.guid().nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Appointment' });
export type Appointment = z.infer<typeof Appointment>;

export const AppointmentWithHistory = Appointment.extend({
  history: z.array(HistoryEntry).meta({ description: 'Oldest first.' }),
}).meta({ id: 'AppointmentWithHistory' });
export type AppointmentWithHistory = z.infer<typeof AppointmentWithHistory>;

export const FreeTimes = z
  .object({
    booking_type: BookingTypeSummary,
    timezone: z.string(),
    data: z.array(
      z
        .object({
          starts_at: timestamp,
          ends_at: timestamp,
          staff: z
            .array(StaffSummary)
            .meta({ description: 'Teammates who are free, in the order in which they are tried.' }),
        })
        .meta({ id: 'FreeTime' }),
    ),
    has_more: z.boolean(),
    next: timestamp.nullable(),
  })
  .meta({ id: 'FreeTimes' });

export const blockedReason = z.enum([
  'outside_hours',
  'time_off',
  'taken',
  'too_soon',
  'too_far',
  'off_grid',
  'inactive',
]);
export type BlockedReason = z.infer<typeof blockedReason>;

export const Explanation = z
  .object({
    free: z.boolean(),
    reasons: z.array(
      z.object({ staff: z.string().meta({ description: 'Email.' }), code: blockedReason }).meta({ id: 'BlockedStaff' }),
    ),
  })
  .meta({ id: 'FreeTimeExplanation' });

export const appointmentPath = z.object({ appointment_id: uuid.meta({ param: { id: 'AppointmentId' } }) });
export const bookingTypePath = z.object({ booking_type_id: integerId.meta({ param: { id: 'BookingTypeId' } }) });
export const staffPath = z.object({ email: email.meta({ param: { id: 'StaffEmail' } }) });
export const timeOffPath = staffPath.extend({ time_off_id: uuid });
