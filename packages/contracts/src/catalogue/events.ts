import { z } from 'zod';
import { eventsOf, previous } from '../core/event.ts';
import { Order } from './resources.ts';

const { publicEvent } = eventsOf('catalogue');
const changed = z.object({ order: Order.meta({ description: 'The order after the change.' }), previous });

export const orderCreated = publicEvent('order.created', z.object({ order: Order }), 'An order was placed.');
export const orderConfirmed = publicEvent('order.confirmed', changed, 'A new order was confirmed.');
export const orderDeclined = publicEvent('order.declined', changed, 'A new or confirmed order was declined.');
export const orderFulfilled = publicEvent('order.fulfilled', changed, 'A confirmed order was fulfilled.');
export const orderCancelled = publicEvent('order.cancelled', changed, 'An order was canceled.');
