import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/catalogue';
import { hasRow, readChanges, readFiltered, readPage, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toOrder } from './order.ts';
import { listChangedOrders, listOrderRows, type OrderFilter } from './orders.sql.ts';

export const listOrders = implement(contract.listOrders, {
  async handle(call) {
    const { account, query, now } = call;
    const { status, source, updated_since: since } = query;
    const filter: OrderFilter = { status, source };
    if (query.contact !== undefined) filter.contactId = (await contactOfAccount(call, query.contact)).id;
    const indexed = [filter.contactId, status ?? source, since];
    return await readFiltered(call, 'the search of orders', { indexed }, (sql) =>
      since
        ? readChanges({ sql, accountId: account.id, now, since }, query, {
            table: 'orders',
            rows: (page) => listChangedOrders(sql, account.id, filter, page),
            bytes: (row) => row.bytes,
            item: (row) => toOrder(row, account.timezone),
          })
        : readPage(query, {
            position: uuidPosition((id) => hasRow(sql, 'orders', account.id, id)),
            rows: (after, limit) => listOrderRows(sql, account.id, filter, { after, limit }),
            bytes: (row) => row.bytes,
            item: (row) => toOrder(row, account.timezone),
            cursor: 'id',
          }),
    );
  },
});
