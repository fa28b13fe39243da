import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/messaging';
import { readPage, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { hasMessage, listMessageRows } from './list-messages.sql.ts';
import { toMessage } from './message.ts';

export const listMessages = implement(contract.listMessages, {
  async handle(call) {
    const { account, tx, query } = call;
    const { reference, status, q } = query;
    const contact = query.contact === undefined ? undefined : (await contactOfAccount(call, query.contact)).id;
    return await readPage(query, {
      position: uuidPosition((id) => hasMessage(tx, account.id, id)),
      rows: (after, limit) => listMessageRows(tx, account.id, { reference, status, q, contact }, { after, limit }),
      bytes: (row) => row.bytes,
      item: (row) => toMessage(row, account),
      cursor: 'id',
    });
  },
});
