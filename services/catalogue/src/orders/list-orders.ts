import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/catalogue';
import { readPage, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toOrder } from './order.ts';
import { hasOrder, listOrderRows, type OrderFilter } from './orders.sql.ts';

export const listOrders = implement(contract.listOrders, {
  async handle(call) {
    const { account, tx, query } = call;
    const filter: OrderFilter = { status: query.status, source: query.source };
    if (query.contact !== undefined) filter.contactId = (await contactOfAccount(call, query.contact)).id;
    return await readPage(query, {
      position: uuidPosition((id) => hasOrder(tx, account.id, id)),
      rows: (after, limit) => listOrderRows(tx, account.id, filter, { after, limit }),
      bytes: (row) => row.bytes,
      item: (row) => toOrder(row, account.timezone),
      cursor: 'id',
    });
  },
});
