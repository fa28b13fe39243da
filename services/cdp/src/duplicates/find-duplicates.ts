import * as contract from '@customer-platform/contracts/cdp';
import { implementer } from '@customer-platform/service-kit';
import { askForRun } from './duplicate-runs.sql.ts';

export const findDuplicates = implementer()(contract.findDuplicates, {
  async handle({ account, tx, now }) {
    await askForRun(tx, account.id, now);
    return {};
  },
});
