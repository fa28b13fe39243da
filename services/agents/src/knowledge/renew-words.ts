import type { Job } from '@customer-platform/service-kit';
import { lockSourceOfOldWords, oldWords, renewWords } from './passages.sql.ts';

/** Indexes passages of an older search version again, one source at a time. Until then, search finds them by their old terms. */
export const renewOldWords: Job<unknown> = {
  name: 'renew-old-words',
  watched: [oldWords],
  everyMs: 5_000,
  async run({ tx, findAccounts }, scope) {
    const source = await lockSourceOfOldWords(tx, scope);
    if (!source) return false;
    const language = findAccounts([source.account_id]).get(source.account_id)?.language ?? '';
    await renewWords(tx, { accountId: source.account_id, sourceId: source.id, language });
    return true;
  },
};
