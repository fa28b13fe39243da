import * as contract from '@customer-platform/contracts/messaging';
import { implement } from '../implement.ts';
import { toTemplates } from './template.ts';
import { selectOwnTexts } from './templates.sql.ts';

export const getTemplates = implement(contract.getTemplates, {
  async handle({ account, tx }) {
    return toTemplates(account, await selectOwnTexts(tx, [account.id]));
  },
});
