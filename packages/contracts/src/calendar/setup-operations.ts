import { z } from 'zod';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import {
  BookingType,
  BookingTypeChange,
  BookingTypeInput,
  bookingTypePath,
  Settings,
  SettingsChange,
  Staff,
  StaffChange,
  StaffInput,
  staffPath,
  TimeOff,
  TimeOffInput,
  timeOffPath,
} from './resources.ts';

const operation = operationsOf('calendar', 'calendar');
const read = 'calendar:read';
const write = 'calendar:write';
const list = z.object(pageQuery);

export const listBookingTypes = operation('listBookingTypes', {
  method: 'GET',
  path: '/v1/calendar/booking-types',
  scope: read,
  summary: 'List booking types',
  description: 'Returns booking types, newest first, including inactive ones.',
  query: list,
  status: 200,
  response: pageOf(BookingType),
  errors: [],
});

export const createBookingType = operation('createBookingType', {
  method: 'POST',
  path: '/v1/calendar/booking-types',
  scope: write,
  summary: 'Create a booking type',
  description: 'Its teammates need a staff profile first. It can be booked as soon as one of them has opening hours.',
  body: BookingTypeInput,
  status: 201,
  response: BookingType,
  errors: [],
});

export const getBookingType = operation('getBookingType', {
  method: 'GET',
  path: '/v1/calendar/booking-types/{booking_type_id}',
  scope: read,
  summary: 'Retrieve a booking type',
  description: 'Returns the booking type, even if it is inactive.',
  params: bookingTypePath,
  status: 200,
  response: BookingType,
  errors: ['not_found'],
});

export const updateBookingType = operation('updateBookingType', {
  method: 'PATCH',
  path: '/v1/calendar/booking-types/{booking_type_id}',
  scope: write,
  summary: 'Update a booking type',
  description: 'Changes the booking type. Existing appointments do not change.',
  params: bookingTypePath,
  body: BookingTypeChange,
  status: 200,
  response: BookingType,
  errors: ['not_found'],
});

export const deleteBookingType = operation('deleteBookingType', {
  method: 'DELETE',
  path: '/v1/calendar/booking-types/{booking_type_id}',
  scope: write,
  summary: 'Delete a booking type',
  description: 'Deletes the booking type. If it has appointments, it is kept and switched off instead.',
  params: bookingTypePath,
  status: 204,
  errors: ['not_found'],
});

export const listStaff = operation('listStaff', {
  method: 'GET',
  path: '/v1/calendar/staff',
  scope: read,
  summary: 'List staff profiles',
  description: 'Returns staff profiles, newest first. The cursor is an email address.',
  query: list,
  status: 200,
  response: pageOf(Staff),
  errors: [],
});

export const createStaff = operation('createStaff', {
  method: 'POST',
  path: '/v1/calendar/staff',
  scope: write,
  summary: 'Create a staff profile',
  description: 'Creates the profile with which a team member takes bookings.',
  body: StaffInput,
  status: 201,
  response: Staff,
  errors: ['invalid_state'],
});

export const getStaff = operation('getStaff', {
  method: 'GET',
  path: '/v1/calendar/staff/{email}',
  scope: read,
  summary: 'Retrieve a staff profile',
  description:
    "Returns the profile. Opening hours are in the account's timezone, and `overrides` replace them on at most 1,000 single dates, with 64 KiB as JSON.",
  params: staffPath,
  status: 200,
  response: Staff,
  errors: ['not_found'],
});

export const updateStaff = operation('updateStaff', {
  method: 'PATCH',
  path: '/v1/calendar/staff/{email}',
  scope: write,
  summary: 'Update a staff profile',
  description:
    '`hours` and `overrides` merge by key; null removes a key. `overrides` has at most 1,000 dates and 64 KiB as JSON.',
  params: staffPath,
  body: StaffChange,
  status: 200,
  response: Staff,
  errors: ['not_found'],
});

export const listTimeOff = operation('listTimeOff', {
  method: 'GET',
  path: '/v1/calendar/staff/{email}/time-off',
  scope: read,
  summary: "List a teammate's time off",
  description: 'Returns the periods of time off, latest first.',
  params: staffPath,
  query: list,
  status: 200,
  response: pageOf(TimeOff),
  errors: ['not_found'],
});

export const createTimeOff = operation('createTimeOff', {
  method: 'POST',
  path: '/v1/calendar/staff/{email}/time-off',
  scope: write,
  summary: 'Create time off',
  description:
    'The teammate cannot be booked in this period. Existing appointments do not change. A teammate has at most 1,000 periods that have not ended; one more is refused with 409 invalid_state.',
  params: staffPath,
  body: TimeOffInput,
  status: 201,
  response: TimeOff,
  errors: ['not_found', 'invalid_state'],
});

export const deleteTimeOff = operation('deleteTimeOff', {
  method: 'DELETE',
  path: '/v1/calendar/staff/{email}/time-off/{time_off_id}',
  scope: write,
  summary: 'Delete time off',
  description: 'Deletes the period. The teammate can be booked in it again, within the opening hours.',
  params: timeOffPath,
  status: 204,
  errors: ['not_found'],
});

export const getSettings = operation('getSettings', {
  method: 'GET',
  path: '/v1/calendar/settings',
  scope: read,
  summary: 'Retrieve the Calendar settings',
  description: 'Returns the settings, which apply to booking types without their own values.',
  status: 200,
  response: Settings,
  errors: [],
});

export const updateSettings = operation('updateSettings', {
  method: 'PATCH',
  path: '/v1/calendar/settings',
  scope: write,
  summary: 'Update the Calendar settings',
  description:
    'Objects merge by key; `reminders` is replaced as a whole. Setting `enabled` to false stops bookings. Existing appointments stay.',
  body: SettingsChange,
  status: 200,
  response: Settings,
  errors: [],
});
