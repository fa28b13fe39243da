import type { AccountContext } from '@customer-platform/contracts/core';
import { type TemplateName, type Templates, templateNames } from '@customer-platform/contracts/messaging';
import { defaultText } from './default-texts.ts';
import type { OwnText } from './templates.sql.ts';

/** Returns all texts of an account as the API shows them; `own` are the account's own texts. */
export function toTemplates(account: Pick<AccountContext, 'language'>, own: readonly OwnText[]): Templates {
  const shown = templateNames.map((name) => {
    const { subject, body } = defaultText(name, account.language);
    const text = own.find((candidate) => candidate.name === name);
    const is_default = text?.subject == null && text?.body == null;
    const whatsapp = text?.whatsapp ?? null;
    return [name, { subject: text?.subject ?? subject, body: text?.body ?? body, whatsapp, is_default }];
  });
  return Object.fromEntries(shown) as Record<TemplateName, Templates[TemplateName]>;
}
