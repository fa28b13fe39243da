import * as contract from '@customer-platform/contracts/messaging';
import { implement } from '../implement.ts';
import { defaultText } from './default-texts.ts';
import { toTemplates } from './template.ts';
import { deleteOwnText, lockOwnTexts, selectOwnTexts, upsertOwnText } from './templates.sql.ts';

/** Updates texts. A text equal to the default is not stored, so it follows later changes of the default. */
export const updateTemplates = implement(contract.updateTemplates, {
  async handle({ account, tx, body: changes }) {
    await lockOwnTexts(tx, account.id);
    const shown = toTemplates(account, await selectOwnTexts(tx, [account.id]));
    for (const name of contract.templateNames) {
      const change = changes[name];
      if (change === undefined) continue;
      const standard = defaultText(name, account.language);
      const given = change === null ? { ...standard, whatsapp: null } : { ...shown[name], ...change };
      const subject = given.subject ?? standard.subject;
      const body = given.body ?? standard.body;
      const own = {
        subject: subject === standard.subject ? null : subject,
        body: body === standard.body ? null : body,
        whatsapp: given.whatsapp ?? null,
      };
      if (own.subject === null && own.body === null && own.whatsapp === null) await deleteOwnText(tx, account.id, name);
      else await upsertOwnText(tx, { account_id: account.id, name, ...own });
    }
    return toTemplates(account, await selectOwnTexts(tx, [account.id]));
  },
});
