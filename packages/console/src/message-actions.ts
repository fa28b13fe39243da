import { call } from './api.ts';
import { periods, startOf } from './endpoint-actions.tsx';
import { type Action, reasonField, reasonIn } from './ui/action.tsx';
import { countOf } from './ui/format.ts';

/** Resends an account's failed messages: those with one error code, or all. */
export function resendAction(account: { id: string; name: string }, code?: string): Action {
  return {
    title: `Resend failed messages of ${account.name}`,
    confirm: 'Resend',
    touches: `Resends the messages of the period that failed${code ? ` with ${code}` : ''}, each at most once. Fix the cause first.`,
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
