import { z } from 'zod';
import { eventsOf, previous } from '../core/event.ts';
import { Order } from './resources.ts';

const { publicEvent } = eventsOf('catalogue');
const changed = z.object({ order: Order, previous });

export const orderCreated = publicEvent('order.created', z.object({ order: Order }));
export const orderConfirmed = publicEvent('order.confirmed', changed);
export const orderDeclined = publicEvent('order.declined', changed);
export const orderFulfilled = publicEvent('order.fulfilled', changed);
export const orderCancelled = publicEvent('order.cancelled', changed);
