import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/catalogue';
import { hasRow, readOrSearch, readPage, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toOrder } from './order.ts';
import { listOrderRows, type OrderFilter } from './orders.sql.ts';

export const listOrders = implement(contract.listOrders, {
  async handle(call) {
    const { account, query } = call;
    const { status, source } = query;
    const filter: OrderFilter = { status, source };
    if (query.contact !== undefined) filter.contactId = (await contactOfAccount(call, query.contact)).id;
    const indexed = [filter.contactId, status ?? source];
    return await readOrSearch(call, 'the search of orders', { indexed }, (sql) =>
      readPage(query, {
        position: uuidPosition((id) => hasRow(sql, 'orders', account.id, id)),
        rows: (after, limit) => listOrderRows(sql, account.id, filter, { after, limit }),
        bytes: (row) => row.bytes,
        item: (row) => toOrder(row, account.timezone),
        cursor: 'id',
      }),
    );
  },
});
