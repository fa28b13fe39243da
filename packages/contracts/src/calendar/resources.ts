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
  description: '`requested`, `confirmed` and `completed` keep the time booked; `cancelled` and `no_show` release it.',
});
export type AppointmentStatus = z.infer<typeof appointmentStatus>;

/** Kind of meeting. */
export const mode = z.enum(['online', 'physical'], { error: 'must be online or physical' });
export const bookingTypeMode = z.enum(['online', 'physical', 'either']).meta({
  description:
    'Mode of appointments. With `either`, each booking chooses a mode; the default is the mode of the Calendar settings.',
});
/** Channel of a reminder or confirmation. */
export const reminderChannel = z.enum(channel.options);

const location = text(255);
const meetingLink = text(500);
const notes = text(5_000);

const Reminder = z
  .object({
    minutes_before: z.int().min(1).max(43_200).meta({
      description: 'Minutes before the start. A reminder that is already due at the booking is not sent.',
    }),
    channel: reminderChannel.meta({
      description: 'Channel to try first. The `fallback` channels of the message settings follow.',
    }),
  })
  .meta({ id: 'Reminder', description: 'A message to the contact before the start.' });
const reminders = z.array(Reminder).max(10);

const nullIsEmpty = 'Null sets an empty string.';

/** Descriptions of a booking type's fields, for bodies and responses. */
const ofType = {
  name: 'Name of the booking type, and title of new appointments.',
  active: 'True if the booking type can be booked. If it is switched off, existing appointments stay.',
  duration_minutes: 'Length of new appointments, in minutes.',
  prep_minutes:
    'Minutes of preparation before the start, in which the teammate has no other appointment. They can lie before opening hours.',
  slot_interval_minutes: 'Minutes between possible starts, from local midnight; a divisor of 1,440.',
  min_notice_minutes: 'Minimum number of minutes between the booking and the start.',
  window_days: 'How far ahead an appointment can be booked, in days of 24 hours.',
  location: 'Place of in-person appointments; empty: that of the teammate, otherwise of the Calendar settings.',
  meeting_link: "Link of online appointments; empty: the teammate's link.",
  staff: 'Email addresses of the teammates who take the booking type, in the order in which they are tried.',
  default_staff: 'Email address of the teammate to try first, who must be in `staff`.',
  reminders: 'Reminders of appointments, at most 10; empty: the reminders of the Calendar settings.',
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
    description: `${ofType.slot_interval_minutes} Default: the duration or 30, whichever is smaller, rounded down to a divisor.`,
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

/** Body of PATCH. Null or an empty string removes `default_staff`. */
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
    description: `${ofType.staff} Null or an empty list removes all teammates.`,
  }),
  default_staff: clearable(email.or(z.literal('')), '').meta({
    description: `${ofType.default_staff} Null or an empty string removes it.`,
  }),
  reminders: clearable(reminders, []).meta({ description: `${ofType.reminders} Null sets an empty list.` }),
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
const staffLocation = "The teammate's place for in-person appointments whose booking type has none.";
const staffMeetingLink = "The teammate's link for online appointments whose booking type has none.";

export const StaffInput = z.object({
  email: email.meta({ description: 'Email address of a team member.' }),
  active: z.boolean().default(true).meta({ description: takesBookings }),
  hours: Hours,
  overrides: Overrides.default({}),
  location: location.default('').meta({ description: staffLocation }),
  meeting_link: meetingLink.default('').meta({ description: staffMeetingLink }),
});

/** Body of PATCH. `hours` and `overrides` merge by key; null removes a key, or all overrides. */
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
    email: z.string().meta({ description: 'Email address, which identifies the teammate.' }),
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
    id: z.guid().meta({ description: 'Id of the period.' }),
    from: timestamp.meta({ description: 'Start, inclusive.' }),
    to: timestamp.meta({ description: 'End, exclusive.' }),
    reason: z.string().meta({ description: 'Why the teammate is away; empty if not given.' }),
  })
  .meta({ id: 'TimeOff', description: 'A period in which a teammate cannot be booked.' });
export type TimeOff = z.infer<typeof TimeOff>;

const enabled = 'True if appointments can be booked. If it is switched off, existing appointments stay.';
const settingsMode = mode.meta({
  description: 'Mode of appointments with a booking type of mode `either`, unless the booking gives a mode.',
});
const settingsLocation = 'Place of in-person appointments if neither the booking type nor the teammate has one.';
const confirmation = 'The message that confirms a booked or rescheduled appointment to the contact.';
const confirms = z.boolean().meta({ description: 'True if the message is sent.' });
const confirmationChannel = reminderChannel.meta({
  description: 'Channel to try first. The `fallback` channels of the message settings follow.',
});
const settingsReminders = 'Reminders of appointments whose booking type has none, at most 10.';

export const SettingsChange = z.object({
  enabled: z.boolean().optional().meta({ description: enabled }),
  mode: settingsMode.optional(),
  location: clearable(location, '').meta({ description: `${settingsLocation} ${nullIsEmpty}` }),
  confirmation: z
    .object({ enabled: confirms.optional(), channel: confirmationChannel.optional() })
    .optional()
    .meta({ description: confirmation }),
  reminders: clearable(reminders, []).meta({ description: `${settingsReminders} Null sets an empty list.` }),
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
    description: 'A free start of the booking type, from `GET /v1/calendar/free-times`.',
  }),
  staff: email.optional().meta({
    description: 'Email address of the teammate. Default: the first free one; the default teammate is tried first.',
  }),
  status: z
    .enum(['confirmed', 'requested'], { error: 'must be confirmed or requested' })
    .default('confirmed')
    .meta({ description: 'Both keep the time booked. A `requested` appointment can be confirmed later.' }),
  mode: mode.optional().meta({
    description:
      'How they meet, for a booking type of mode `either`; ignored for others. Default: the mode of the Calendar settings.',
  }),
  location: location.optional().meta({
    description:
      'Place of an in-person appointment. Default: the place of the booking type, otherwise of the teammate, otherwise of the Calendar settings.',
  }),
  meeting_link: meetingLink.optional().meta({
    description: 'Link of an online appointment. Default: the link of the booking type, otherwise of the teammate.',
  }),
  notes: notes.default('').meta({ description: "The team's notes." }),
  deal: uuid.optional().meta({ description: 'Id of the deal of the appointment; needs Pipelines.' }),
});

const refusedField = (name: string) =>
  z
    .unknown()
    .optional()
    .meta({ description: `Refused: only reschedule or a status operation changes ${name}.` });

export const AppointmentChange = z
  .object({
    notes: notes.optional().meta({ description: "The team's notes. Changing only the notes sends no event." }),
    location: location
      .optional()
      .meta({ description: 'Place of an in-person appointment; an empty string removes it.' }),
    meeting_link: meetingLink
      .optional()
      .meta({ description: 'Link of an online appointment; an empty string removes it.' }),
    mode: mode
      .optional()
      .meta({ description: 'How they meet; `physical` is in person. The place and link do not change.' }),
    starts_at: refusedField('starts_at'),
    ends_at: refusedField('ends_at'),
    staff: refusedField('staff'),
    status: refusedField('status'),
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
  .meta({ description: 'Where the appointment was booked. `link`: by online booking. `api`: through the API.' });

export const HistoryEntry = z
  .object({
    kind: z
      .enum(['booked', 'rescheduled', 'edited', 'confirmed', 'completed', 'cancelled', 'no_show'])
      .meta({ description: 'What happened. `edited`: the mode, location or meeting link changed.' }),
    summary: z.string().meta({ description: 'The change as one sentence, with the old and new values.' }),
    at: timestamp.meta({ description: 'When it happened.' }),
  })
  .meta({ id: 'AppointmentHistoryEntry' });
export type HistoryEntry = z.infer<typeof HistoryEntry>;

/** A booking type in an appointment or free times. */
const BookingTypeSummary = z
  .object({
    id: z.int().meta({ description: 'Id of the booking type.' }),
    name: z.string().meta({ description: 'Name of the booking type; in an appointment, its name when it was booked.' }),
  })
  .meta({ id: 'BookingTypeSummary', description: 'A booking type, with its id and name.' });
/** A teammate in an appointment or free times. */
const StaffSummary = z
  .object({
    name: z.string().meta({ description: 'Name of the teammate.' }),
    email: z.string().meta({ description: 'Email address of the teammate.' }),
  })
  .meta({ id: 'StaffSummary', description: 'A teammate, with name and email address.' });

export const Appointment = z
  .object({
    id: z.guid().meta({ description: 'Id of the appointment.' }),
    title: z.string().meta({ description: 'Name of the booking type when the appointment was booked.' }),
    status: appointmentStatus,
    booking_type: BookingTypeSummary.nullable().meta({ description: 'The booking type that was booked.' }),
    contact: ContactSummary.meta({ description: 'The contact; after a merge, the surviving contact.' }),
    staff: StaffSummary.meta({ description: 'The teammate who takes the appointment.' }),
    starts_at: timestamp.meta({ description: 'Start, after the prep time.' }),
    ends_at: timestamp.meta({ description: 'End, exclusive.' }),
    mode: mode.meta({ description: 'How they meet; `physical` is in person.' }),
    location: z.string().meta({ description: 'Place of an in-person appointment; empty if there is none.' }),
    meeting_link: z.string().meta({ description: 'Link of an online appointment; empty if there is none.' }),
    notes: z.string().meta({ description: "The team's notes; empty if there are none." }),
    source: appointmentSource,
    deal: z.guid().nullable().meta({
      description: 'Id of the deal of the appointment; null if there is none, or if it was deleted.',
    }),
    created_at: timestamp.meta({ description: 'When the appointment was booked.' }),
    updated_at: timestamp.meta({ description: 'When the appointment or its notes last changed.' }),
  })
  .meta({ id: 'Appointment', description: 'An appointment of a contact with a teammate.' });
export type Appointment = z.infer<typeof Appointment>;

export const AppointmentWithHistory = Appointment.extend({
  history: z.array(HistoryEntry).meta({ description: 'What happened to the appointment, oldest first.' }),
}).meta({ id: 'AppointmentWithHistory', description: 'An appointment with its history.' });
export type AppointmentWithHistory = z.infer<typeof AppointmentWithHistory>;

export const FreeTimes = z
  .object({
    booking_type: BookingTypeSummary.meta({ description: 'The requested booking type.' }),
    timezone: z.string().meta({ description: 'IANA timezone whose offset the times have.' }),
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
      'Why the start is not free. `too_soon`, `too_far` and `off_grid` refer to `min_notice_minutes`, `window_days` and `slot_interval_minutes` of the booking type.',
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
      .meta({ description: 'All reasons why teammates cannot take this start. A teammate who can take it has none.' }),
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
