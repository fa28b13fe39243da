import { call } from './api.ts';
import { periods, startOf } from './endpoint-actions.tsx';
import { type Action, reasonField, reasonIn } from './ui/action.tsx';
import { countOf } from './ui/format.ts';

/** Sends an account's failed messages again: those of one error code, or all. */
export function resendAction(account: { id: string; name: string }, code?: string): Action {
  return {
    title: `Resend failed messages of ${account.name}`,
    confirm: 'Resend',
    touches: `Messages of the period that failed${code ? ` with ${code}` : ''} are sent again, each at most once. Mend their cause first.`,
    fields: [
      {
        name: 'period',
        label: 'Failed within the last',
        options: Object.keys(periods),
        labels: periods,
        value: '86400',
      },
      reasonField,
    ],
    run: async (values) => {
      const { matched } = await call('POST /admin/accounts/{account_id}/messages/resend', {
        params: { account_id: account.id },
        body: { since: startOf(values.get('period')), ...(code ? { code } : {}), ...reasonIn(values) },
      });
      return `${countOf(matched, 'message is', 'messages are')} sent again.`;
    },
  };
}
