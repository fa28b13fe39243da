import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/messaging';
import { badCursor, toPage, uuidCursor } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { hasMessage, listMessageRows } from './list-messages.sql.ts';
import { toMessage } from './message.ts';

export const listMessages = implement(contract.listMessages, {
  async handle(call) {
    const { account, tx, query } = call;
    const { limit, starting_after: cursor, reference, status, q } = query;
    const contact = query.contact === undefined ? undefined : (await contactOfAccount(call, query.contact)).id;
    const after = cursor === undefined ? undefined : uuidCursor(cursor);
    if (after !== undefined && !(await hasMessage(tx, account.id, after))) throw badCursor();
    const rows = await listMessageRows(tx, account.id, { reference, status, q, contact }, after, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => toMessage(row, account),
      (row) => row.id,
    );
  },
});
