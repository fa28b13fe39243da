import type { AccountHealth, CustomerAttention } from '@customer-platform/contracts/accounts';
import { customerLimits, runbookOf } from '@customer-platform/contracts/operators';
import { type Finding, goneFindings } from './findings.ts';
import { age, minute } from './text.ts';

const dayMs = 86_400_000;
/** Error codes that are no refusals of what is there, or are findings of their own. */
const foundOtherwise = ['not_found', 'module_off', 'account_suspended'];

/** Returns what somebody should look at of what an account meets, endpoints last, since there may be many. */
export function healthFindings(account: string, health: AccountHealth, now: Date): Finding[] {
  const { suspended, modules_off, requests, keys, messages, plans, endpoints, gone } = health;
  const { total, by_code } = requests.last_hour;
  const since = dayAgo(now);
  const update = `accounts update ${account}`;
  const resend = `messages resend ${account} --since ${since}`;
  const found = goneFindings(gone, 'parts');
  const add = (runbook: keyof typeof runbookOf, text: string, ...mends: string[]) =>
    found.push({ text, mends, runbooks: [runbookOf[runbook]] });

  if (suspended) add('modules', 'the account is suspended', `${update} --status active`);
  if (modules_off.length > 0) {
    const text = `modules off, or not in the plan: ${modules_off.join(', ')}`;
    const on = JSON.stringify(Object.fromEntries(modules_off.map((name) => [name, { on: true }])));
    add(
      'modules',
      `${text}; refused with 404 in the last hour: ${by_code.module_off ?? 0}`,
      `${update} --modules '${on}'`,
    );
  }
  for (const { id, name, last4, limited, requests, addresses } of keys.filter((key) => key.limited > 0)) {
    const text = `key ${name} (…${last4}): ${limited} of ${requests} requests got 429 in the last hour`;
    const raise = `${update} --rate-limit '{"per_minute":NUMBER,"burst":NUMBER}'`;
    add('refusals', `${text}, from ${addresses.join(', ')}`, `keys rotate ${id} --overlap-seconds 0`, raise);
  }
  const codes = Object.entries(by_code).filter(([code]) => !foundOtherwise.includes(code));
  const refused = codes.reduce((sum, [, count]) => sum + count, 0);
  if (total >= customerLimits.leastRequests && refused > total * customerLimits.refusedShare) {
    const counts = codes.toSorted(([, one], [, other]) => other - one).map((pair) => pair.join(' '));
    const text = `${refused} of ${total} requests were refused in the last hour: ${counts.join(', ')}`;
    add('refusals', text, `traces list --account ${account} --status-code 4xx`);
  }
  for (const { channel, provider, error } of messages.channels.filter(({ status }) => status === 'failing'))
    add('channel', `channel ${channel}: ${provider} refuses the credentials: ${error ?? '-'}`, resend);
  for (const { channel, code, count, last_at, last_error } of messages.failed_24h) {
    const text = `messages by ${channel}: ${count} failed in the last day (${code}), the last at ${minute(last_at)}`;
    add('messages', `${text}: ${last_error}`, `${resend} --code ${code}`);
  }
  if (plans.failed_24h > 0) {
    const text = `plans: ${plans.failed_24h} failed in the last day, the last: ${plans.last_error ?? '-'}`;
    add('plans', text, `traces list --account ${account} --status error`);
  }
  for (const endpoint of endpoints) {
    const { id, url, disabled_reason, paused, pending, failed_24h } = endpoint;
    const named = `endpoint ${id} (${url})`;
    const replay = `endpoints replay ${id} --since ${since}`;
    // One that fails is in a list of its own; one that its customer switched off is as it should be.
    if (disabled_reason !== null) found.push(disabledFinding(endpoint, now));
    else if (failed_24h > 0) add('failing', `${named}: deliveries given up in the last day: ${failed_24h}`, replay);
    if (paused)
      add('failing', `${named} is paused, ${pending} wait`, `queues resume webhooks deliveries --endpoint ${id}`);
  }
  return found;
}

/** Returns the same of what all customers meet. Addresses with invalid keys have a list of their own. */
export function attentionFindings({ channels, accounts, endpoints, gone }: CustomerAttention, now: Date): Finding[] {
  return [
    ...goneFindings(gone, 'customers'),
    ...accounts.map(({ account, account_name, failed_messages, requests, refused, reasons }) => {
      const texts = {
        messages: `${failed_messages} messages failed`,
        refusals: `${refused} of ${requests} requests refused`,
      };
      const met = reasons.map((reason) => texts[reason]).join(', ');
      const text = `account ${account_name}: ${met} in the last hour`;
      return { text, mends: [`check --account ${account}`], runbooks: reasons.map((reason) => runbookOf[reason]) };
    }),
    ...channels.map(({ account, account_name, channel, provider, error, failing_since }) => {
      const since = age(failing_since, now);
      const text = `account ${account_name}: ${provider} refuses its ${channel} for ${since}: ${error ?? '-'}`;
      return { text, mends: [`check --account ${account}`], runbooks: [runbookOf.channel] };
    }),
    ...endpoints.map((endpoint) => disabledFinding(endpoint, now)),
  ];
}

type Endpoint = Pick<CustomerAttention['endpoints'][number], 'id' | 'url' | 'disabled_reason'>;

function disabledFinding({ id, url, disabled_reason }: Endpoint, now: Date): Finding {
  return {
    text: `endpoint ${id} (${url}) is disabled: ${disabled_reason}`,
    mends: [`endpoints enable ${id}`, `endpoints replay ${id} --since ${dayAgo(now)}`],
    runbooks: [runbookOf.failing],
  };
}

function dayAgo(now: Date): string {
  return `${new Date(now.getTime() - dayMs).toISOString().slice(0, 19)}Z`;
}
