import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/catalogue';
import { badCursor, toPage, uuidCursor } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toOrder } from './order.ts';
import { hasOrder, listOrderRows, type OrderFilter } from './orders.sql.ts';

export const listOrders = implement(contract.listOrders, {
  async handle(call) {
    const { account, tx, query } = call;
    const { limit, status, source, starting_after: cursor } = query;
    const filter: OrderFilter = { status, source };
    if (query.contact !== undefined) filter.contactId = (await contactOfAccount(call, query.contact)).id;
    const last = cursor === undefined ? undefined : uuidCursor(cursor);
    if (last !== undefined && !(await hasOrder(tx, account.id, last))) throw badCursor();
    const rows = await listOrderRows(tx, account.id, filter, last, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => toOrder(row, account.timezone),
      (row) => row.id,
    );
  },
});
