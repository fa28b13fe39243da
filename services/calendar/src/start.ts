import { contactConsumer, restoredContactConsumer, unmergedContactConsumer } from '@customer-platform/contact-copy';
import type * as contract from '@customer-platform/contracts/calendar';
import { baseConfig, type ServiceDefinition } from '@customer-platform/service-kit';
import { bookAppointment } from './appointments/book-appointment.ts';
import { cancelAppointment } from './appointments/cancel-appointment.ts';
import { completeAppointment } from './appointments/complete-appointment.ts';
import { confirmAppointment } from './appointments/confirm-appointment.ts';
import { emitDueReminders } from './appointments/emit-due-reminders.ts';
import { getAppointment } from './appointments/get-appointment.ts';
import { listAppointments } from './appointments/list-appointments.ts';
import { markNoShow } from './appointments/mark-no-show.ts';
import { rescheduleAppointment } from './appointments/reschedule-appointment.ts';
import { updateAppointment } from './appointments/update-appointment.ts';
import { createBookingType } from './booking-types/create-booking-type.ts';
import { deleteBookingType } from './booking-types/delete-booking-type.ts';
import { getBookingType } from './booking-types/get-booking-type.ts';
import { listBookingTypes } from './booking-types/list-booking-types.ts';
import { updateBookingType } from './booking-types/update-booking-type.ts';
import { onDealDeleted } from './deals/on-deal-deleted.ts';
import { explainFreeTime } from './free-times/explain-free-time.ts';
import { listFreeTimes } from './free-times/list-free-times.ts';
import { getSettings } from './settings/get-settings.ts';
import { updateSettings } from './settings/update-settings.ts';
import { createStaff } from './staff/create-staff.ts';
import { createTimeOff } from './staff/create-time-off.ts';
import { deleteTimeOff } from './staff/delete-time-off.ts';
import { getStaff } from './staff/get-staff.ts';
import { listStaff } from './staff/list-staff.ts';
import { listTimeOff } from './staff/list-time-off.ts';
import { onMemberAdded } from './staff/on-member-added.ts';
import { onMemberRemoved } from './staff/on-member-removed.ts';
import { updateStaff } from './staff/update-staff.ts';

/** Calendar: free times of an account's staff, and appointments. */
export const calendar: ServiceDefinition<typeof contract> = {
  name: 'calendar',
  config: baseConfig,
  migrations: new URL('../migrations/', import.meta.url),
  operations: {
    bookAppointment,
    listAppointments,
    getAppointment,
    updateAppointment,
    rescheduleAppointment,
    confirmAppointment,
    completeAppointment,
    cancelAppointment,
    markNoShow,
    listFreeTimes,
    explainFreeTime,
    listBookingTypes,
    createBookingType,
    getBookingType,
    updateBookingType,
    deleteBookingType,
    listStaff,
    createStaff,
    getStaff,
    updateStaff,
    listTimeOff,
    createTimeOff,
    deleteTimeOff,
    getSettings,
    updateSettings,
  },
  requests: {},
  consumers: [
    contactConsumer,
    restoredContactConsumer('appointments'),
    unmergedContactConsumer,
    onMemberAdded,
    onMemberRemoved,
    onDealDeleted,
  ],
  jobs: [emitDueReminders],
};
