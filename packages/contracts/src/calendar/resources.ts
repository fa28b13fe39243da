import { z } from 'zod';
import { ContactSummary } from '../cdp/resources.ts';
import { channel } from '../core/channel.ts';
import { clearable, email, instant, integerId, text, timestamp, uuid } from '../core/fields.ts';
import {
  dateOrInstant,
  dateOrInstantRule,
  Hours,
  HoursChange,
  Overrides,
  OverridesChange,
  ShownHours,
  ShownOverrides,
} from './hours.ts';

export const appointmentStatus = z.enum(['requested', 'confirmed', 'completed', 'cancelled', 'no_show']).meta({
  description: '`requested`, `confirmed` and `completed` hold the time; `cancelled` and `no_show` release it.',
});
export type AppointmentStatus = z.infer<typeof appointmentStatus>;

/** Kind of meeting. */
export const mode = z.enum(['online', 'physical'], { error: 'must be online or physical' });
export const bookingTypeMode = z.enum(['online', 'physical', 'either']).meta({
  description:
    'Mode of its appointments; with `either` each booking chooses, or takes the mode of the Calendar settings.',
});
/** The channels of reminders and confirmations. */
export const reminderChannel = z.enum(channel.options);

const location = text(255);
const meetingLink = text(500);
const notes = text(5_000);

const Reminder = z
  .object({
    minutes_before: z.int().min(1).max(43_200).meta({
      description: 'Minutes before the start. A reminder that would be due before the booking is left out.',
    }),
    channel: reminderChannel.meta({
      description: 'Channel that is tried first; the `fallback` channels of the message settings follow.',
    }),
  })
  .meta({ id: 'Reminder', description: 'A message that reminds the contact before the start.' });
const reminders = z.array(Reminder).max(10);

const nullIsEmpty = 'Null is an empty string.';

/** Descriptions of the fields of a booking type, the same in bodies and responses. */
const ofType = {
  name: 'Name of the booking type: the title of new appointments.',
  active: 'True if it can be booked. Existing appointments stay when it is switched off.',
  duration_minutes: 'Length of new appointments, in minutes.',
  prep_minutes:
    'Minutes before the start in which the teammate has no other appointment. They may lie before opening hours.',
  slot_interval_minutes: 'Minutes between possible starts, counted from local midnight; a divisor of 1,440.',
  min_notice_minutes: 'Minimum number of minutes between the booking and the start.',
  window_days: 'How far ahead it can be booked, in days of 24 hours.',
  location: "Place of appointments in person; empty: the teammate's, or else that of the Calendar settings.",
  meeting_link: "Link of online appointments; empty: the teammate's.",
  staff: 'Email addresses of the teammates who take it, in the order in which they are tried.',
  default_staff: 'Email address of the teammate who is tried first; one of `staff`.',
  reminders: 'Reminders of its appointments, at most 10; empty: those of the Calendar settings.',
};

const typeName = text(120, 1).meta({ description: ofType.name });
const duration = z.int().min(5).max(1_440).meta({ description: ofType.duration_minutes });
const prep = z.int().min(0).max(480).meta({ description: ofType.prep_minutes });
const slotInterval = z
  .int()
  .min(5)
  .max(1_440)
  .refine((minutes) => 1_440 % minutes === 0, { error: 'must be a divisor of 1440' })
  .optional();
const minNotice = z.int().min(0).max(43_200).meta({ description: ofType.min_notice_minutes });
const windowDays = z.int().min(1).max(365).meta({ description: ofType.window_days });

export const BookingTypeInput = z.object({
  name: typeName,
  active: z.boolean().default(true).meta({ description: ofType.active }),
  duration_minutes: duration,
  prep_minutes: prep.default(0),
  slot_interval_minutes: slotInterval.meta({
    description: `${ofType.slot_interval_minutes} Default: the duration, at most 30, or the next smaller divisor.`,
  }),
  min_notice_minutes: minNotice.default(0),
  window_days: windowDays.default(60),
  mode: bookingTypeMode.default('online'),
  location: location.default('').meta({ description: ofType.location }),
  meeting_link: meetingLink.default('').meta({ description: ofType.meeting_link }),
  staff: z.array(email).max(100).default([]).meta({ description: ofType.staff }),
  default_staff: email.optional().meta({ description: ofType.default_staff }),
  reminders: reminders.default([]).meta({ description: ofType.reminders }),
});

/** Body of PATCH; null or an empty string for `default_staff` removes it. */
export const BookingTypeChange = z.object({
  name: typeName.optional(),
  active: z.boolean().optional().meta({ description: ofType.active }),
  duration_minutes: duration.optional(),
  prep_minutes: prep.optional(),
  slot_interval_minutes: slotInterval.meta({ description: ofType.slot_interval_minutes }),
  min_notice_minutes: minNotice.optional(),
  window_days: windowDays.optional(),
  mode: bookingTypeMode.optional(),
  location: clearable(location, '').meta({ description: `${ofType.location} ${nullIsEmpty}` }),
  meeting_link: clearable(meetingLink, '').meta({ description: `${ofType.meeting_link} ${nullIsEmpty}` }),
  staff: clearable(z.array(email).max(100), []).meta({
    description: `${ofType.staff} Null or an empty list removes all.`,
  }),
  default_staff: clearable(email.or(z.literal('')), '').meta({
    description: `${ofType.default_staff} Null or an empty string removes it.`,
  }),
  reminders: clearable(reminders, []).meta({ description: `${ofType.reminders} Null is an empty list.` }),
});

export const BookingType = z
  .object({
    id: z.int().meta({ description: 'Id of the booking type.' }),
    name: z.string().meta({ description: ofType.name }),
    active: z.boolean().meta({ description: ofType.active }),
    duration_minutes: z.int().meta({ description: ofType.duration_minutes }),
    prep_minutes: z.int().meta({ description: ofType.prep_minutes }),
    slot_interval_minutes: z.int().meta({ description: ofType.slot_interval_minutes }),
    min_notice_minutes: z.int().meta({ description: ofType.min_notice_minutes }),
    window_days: z.int().meta({ description: ofType.window_days }),
    mode: bookingTypeMode,
    location: z.string().meta({ description: ofType.location }),
    meeting_link: z.string().meta({ description: ofType.meeting_link }),
    staff: z.array(z.string()).meta({ description: ofType.staff }),
    default_staff: z
      .string()
      .nullable()
      .meta({ description: `${ofType.default_staff} Null if there is none.` }),
    reminders: z.array(Reminder).meta({ description: ofType.reminders }),
  })
  .meta({ id: 'BookingType', description: 'A kind of appointment that can be booked.' });
export type BookingType = z.infer<typeof BookingType>;

const takesBookings = 'True if the teammate takes bookings.';
const staffLocation = "The teammate's place, for appointments in person whose booking type has none.";
const staffMeetingLink = "The teammate's link, for online appointments whose booking type has none.";

export const StaffInput = z.object({
  email: email.meta({ description: 'Email address of a team member.' }),
  active: z.boolean().default(true).meta({ description: takesBookings }),
  hours: Hours,
  overrides: Overrides.default({}),
  location: location.default('').meta({ description: staffLocation }),
  meeting_link: meetingLink.default('').meta({ description: staffMeetingLink }),
});

/** Body of PATCH: `hours` and `overrides` merge by key, null removes a key, and all overrides. */
export const StaffChange = z.object({
  active: z.boolean().optional().meta({ description: takesBookings }),
  hours: HoursChange.optional(),
  overrides: OverridesChange.optional(),
  location: clearable(location, '').meta({ description: `${staffLocation} ${nullIsEmpty}` }),
  meeting_link: clearable(meetingLink, '').meta({ description: `${staffMeetingLink} ${nullIsEmpty}` }),
});

export const Staff = z
  .object({
    name: z.string().meta({ description: 'Name of the team member.' }),
    email: z.string().meta({ description: 'Email address, by which the API names the teammate.' }),
    active: z.boolean().meta({ description: takesBookings }),
    hours: ShownHours,
    overrides: ShownOverrides,
    location: z.string().meta({ description: staffLocation }),
    meeting_link: z.string().meta({ description: staffMeetingLink }),
  })
  .meta({ id: 'Staff', description: 'The profile of a team member who takes bookings.' });
export type Staff = z.infer<typeof Staff>;

export const TimeOffInput = z.object({
  from: dateOrInstant.meta({ description: `Start, inclusive. ${dateOrInstantRule}` }),
  to: dateOrInstant.meta({ description: `End, exclusive; after \`from\`. ${dateOrInstantRule}` }),
  reason: text(200).default('').meta({ description: 'Why the teammate is away.' }),
});

export const TimeOff = z
  .object({
    id: z.guid().meta({ description: 'Id of the time off.' }),
    from: timestamp.meta({ description: 'Start, inclusive.' }),
    to: timestamp.meta({ description: 'End, exclusive.' }),
    reason: z.string().meta({ description: 'Why the teammate is away; empty if not given.' }),
  })
  .meta({ id: 'TimeOff', description: 'A period in which a teammate cannot be booked.' });
export type TimeOff = z.infer<typeof TimeOff>;

const enabled = 'True if appointments can be booked. Existing ones stay when it is switched off.';
const settingsMode = mode.meta({
  description: 'Mode of appointments whose booking type has the mode `either`, unless the booking gives one.',
});
const settingsLocation = 'Place of appointments in person where neither booking type nor teammate has one.';
const confirmation = 'The message that tells the contact of a booked or rescheduled appointment.';
const confirms = z.boolean().meta({ description: 'True if the message is sent.' });
const confirmationChannel = reminderChannel.meta({
  description: 'Channel that is tried first; the `fallback` channels of the message settings follow.',
});
const settingsReminders = 'Reminders of appointments whose booking type has none of its own, at most 10.';

export const SettingsChange = z.object({
  enabled: z.boolean().optional().meta({ description: enabled }),
  mode: settingsMode.optional(),
  location: clearable(location, '').meta({ description: `${settingsLocation} ${nullIsEmpty}` }),
  confirmation: z
    .object({ enabled: confirms.optional(), channel: confirmationChannel.optional() })
    .optional()
    .meta({ description: confirmation }),
  reminders: clearable(reminders, []).meta({ description: `${settingsReminders} Null is an empty list.` }),
});

export const Settings = z
  .object({
    enabled: z.boolean().meta({ description: enabled }),
    mode: settingsMode,
    location: z.string().meta({ description: settingsLocation }),
    confirmation: z.object({ enabled: confirms, channel: confirmationChannel }).meta({ description: confirmation }),
    reminders: z.array(Reminder).meta({ description: settingsReminders }),
  })
  .meta({ id: 'CalendarSettings' });
export type Settings = z.infer<typeof Settings>;

export const AppointmentInput = z.object({
  contact: uuid.meta({ description: 'Id of the contact.' }),
  booking_type: integerId.meta({ description: 'Id of a booking type that is switched on.' }),
  starts_at: instant.meta({
    description: 'A free start of the booking type, as `GET /v1/calendar/free-times` lists them.',
  }),
  staff: email.optional().meta({
    description: 'Email address of the teammate. Default: the first free teammate, trying the default teammate first.',
  }),
  status: z
    .enum(['confirmed', 'requested'], { error: 'must be confirmed or requested' })
    .default('confirmed')
    .meta({ description: 'Both hold the time; an appointment that is `requested` can be confirmed later.' }),
  mode: mode.optional().meta({
    description:
      'How they meet, for a booking type with the mode `either`; others keep their own. Default: the mode of the Calendar settings.',
  }),
  location: location.optional().meta({
    description:
      'Place of an appointment in person. Default: that of the booking type, else of the teammate, else of the Calendar settings.',
  }),
  meeting_link: meetingLink.optional().meta({
    description: 'Link of an online appointment. Default: that of the booking type, else of the teammate.',
  }),
  notes: notes.default('').meta({ description: "The team's notes." }),
  deal: uuid.optional().meta({ description: 'Id of the deal that it belongs to; needs Pipelines.' }),
});

const moved = (name: string) =>
  z
    .unknown()
    .optional()
    .meta({ description: `Refused: ${name} changes only by reschedule or a status operation.` });

export const AppointmentChange = z
  .object({
    notes: notes.optional().meta({ description: "The team's notes. A change of them alone sends no event." }),
    location: location
      .optional()
      .meta({ description: 'Place of an appointment in person; an empty string removes it.' }),
    meeting_link: meetingLink
      .optional()
      .meta({ description: 'Link of an online appointment; an empty string removes it.' }),
    mode: mode
      .optional()
      .meta({ description: 'How they meet; `physical` is in person. Place and link stay as they are.' }),
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

export const appointmentSource = z
  .enum(['panel', 'inbox', 'agent', 'workflow', 'link', 'api'])
  .meta({ description: 'Where it was booked; `link` is online booking. Bookings through the API have `api`.' });

export const HistoryEntry = z
  .object({
    kind: z
      .enum(['booked', 'rescheduled', 'edited', 'confirmed', 'completed', 'cancelled', 'no_show'])
      .meta({ description: 'What happened. `edited`: mode, location or meeting link changed.' }),
    summary: z.string().meta({ description: 'One sentence that names the old and the new value.' }),
    at: timestamp.meta({ description: 'When it happened.' }),
  })
  .meta({ id: 'AppointmentHistoryEntry' });
export type HistoryEntry = z.infer<typeof HistoryEntry>;

/** A booking type as appointments show it. */
const BookingTypeSummary = z
  .object({
    id: z.int().meta({ description: 'Id of the booking type.' }),
    name: z.string().meta({ description: 'Name of the booking type; in an appointment, its name at the booking.' }),
  })
  .meta({ id: 'BookingTypeSummary', description: 'A booking type in short.' });
/** A teammate as appointments and free times show it. */
const StaffSummary = z
  .object({
    name: z.string().meta({ description: 'Name of the teammate.' }),
    email: z.string().meta({ description: 'Email address of the teammate.' }),
  })
  .meta({ id: 'StaffSummary', description: 'A teammate in short.' });

export const Appointment = z
  .object({
    id: z.guid().meta({ description: 'Id of the appointment.' }),
    title: z.string().meta({ description: 'Name of the booking type when it was booked.' }),
    status: appointmentStatus,
    booking_type: BookingTypeSummary.nullable().meta({ description: 'The booking type that was booked.' }),
    contact: ContactSummary.meta({ description: 'The contact; after a merge, the surviving contact.' }),
    staff: StaffSummary.meta({ description: 'The teammate who takes the appointment.' }),
    starts_at: timestamp.meta({ description: 'Start; prep time lies before it.' }),
    ends_at: timestamp.meta({ description: 'End, exclusive.' }),
    mode: mode.meta({ description: 'How they meet; `physical` is in person.' }),
    location: z.string().meta({ description: 'Place of an appointment in person; empty if there is none.' }),
    meeting_link: z.string().meta({ description: 'Link of an online appointment; empty if there is none.' }),
    notes: z.string().meta({ description: "The team's notes; empty if there are none." }),
    source: appointmentSource,
    deal: z
      .guid()
      .nullable()
      .meta({ description: 'Id of the deal that it belongs to; null if there is none, or no longer.' }),
    created_at: timestamp.meta({ description: 'When it was booked.' }),
    updated_at: timestamp.meta({ description: 'When it last changed, notes included.' }),
  })
  .meta({ id: 'Appointment', description: 'An appointment of a contact with a teammate.' });
export type Appointment = z.infer<typeof Appointment>;

export const AppointmentWithHistory = Appointment.extend({
  history: z.array(HistoryEntry).meta({ description: 'What happened to the appointment, oldest first.' }),
}).meta({ id: 'AppointmentWithHistory', description: 'An appointment with its history.' });
export type AppointmentWithHistory = z.infer<typeof AppointmentWithHistory>;

export const FreeTimes = z
  .object({
    booking_type: BookingTypeSummary.meta({ description: 'The booking type that was asked for.' }),
    timezone: z.string().meta({ description: 'IANA timezone whose offset the times show.' }),
    data: z
      .array(
        z
          .object({
            starts_at: timestamp.meta({ description: 'Start that can be booked.' }),
            ends_at: timestamp.meta({ description: 'End of an appointment with this start, exclusive.' }),
            staff: z
              .array(StaffSummary)
              .meta({ description: 'Teammates who are free, in the order in which they are tried.' }),
          })
          .meta({ id: 'FreeTime' }),
      )
      .meta({ description: 'Free starts, earliest first.' }),
    has_more: z.boolean().meta({ description: 'True if more free starts follow before `to`.' }),
    next: timestamp
      .nullable()
      .meta({ description: 'Send it as `starting_after` to get the following page; null on the last.' }),
  })
  .meta({ id: 'FreeTimes' });

export const blockedReason = z
  .enum(['outside_hours', 'time_off', 'taken', 'too_soon', 'too_far', 'off_grid', 'inactive'])
  .meta({
    description:
      'Why not. `too_soon`, `too_far` and `off_grid` refer to `min_notice_minutes`, `window_days` and `slot_interval_minutes` of the booking type.',
  });
export type BlockedReason = z.infer<typeof blockedReason>;

export const Explanation = z
  .object({
    free: z.boolean().meta({ description: 'True if at least one teammate can take this start.' }),
    reasons: z
      .array(
        z
          .object({ staff: z.string().meta({ description: 'Email address of the teammate.' }), code: blockedReason })
          .meta({ id: 'BlockedStaff' }),
      )
      .meta({ description: 'All reasons why teammates cannot take it; a teammate who can has none.' }),
  })
  .meta({ id: 'FreeTimeExplanation' });

export const appointmentPath = z.object({
  appointment_id: uuid.meta({ description: 'Id of the appointment.', param: { id: 'AppointmentId' } }),
});
export const bookingTypePath = z.object({
  booking_type_id: integerId.meta({ description: 'Id of the booking type.', param: { id: 'BookingTypeId' } }),
});
export const staffPath = z.object({
  email: email.meta({ description: 'Email address of the teammate.', param: { id: 'StaffEmail' } }),
});
export const timeOffPath = staffPath.extend({ time_off_id: uuid.meta({ description: 'Id of the time off.' }) });
