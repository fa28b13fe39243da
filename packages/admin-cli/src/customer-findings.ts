import type { AccountHealth, CustomerAttention } from '@customer-platform/contracts/accounts';
import { customerLimits, runbookOf } from '@customer-platform/contracts/operators';
import { type Finding, goneFindings } from './findings.ts';
import { minute } from './text.ts';

const dayMs = 86_400_000;
/** Error codes that do not count as refusals, since `not_found` is common and the others are separate findings. */
const uncountedCodes = ['not_found', 'module_off', 'account_suspended'];

/** Returns an account's problems. Endpoints come last, since there may be many. */
export function healthFindings(account: string, health: AccountHealth, now: Date): Finding[] {
  const { suspended, modules_off, requests, keys, messages, plans, endpoints, gone } = health;
  const { total, by_code } = requests.last_hour;
  const since = dayAgo(now);
  const update = `accounts update ${account}`;
  const audit = `audit --account ${account}`;
  const found = goneFindings(gone, 'parts');
  const add = (runbook: keyof typeof runbookOf, text: string, ...mends: string[]) =>
    found.push({ text, mends, runbooks: [runbookOf[runbook]] });

  if (suspended) add('modules', 'the account is suspended', audit, `${update} --status active`);
  if (modules_off.length > 0) {
    const text = `modules switched off or not in the plan: ${modules_off.join(', ')}`;
    const refused = `requests refused with 404 in the last hour: ${by_code.module_off ?? 0}`;
    const on = JSON.stringify(Object.fromEntries(modules_off.map((name) => [name, { on: true }])));
    add('modules', `${text}; ${refused}`, audit, `${update} --modules '${on}'`);
  }
  for (const { id, name, last4, rate_limit, ended_at, limited, requests, addresses } of keys) {
    const named = `key ${name} (…${last4})`;
    const from = `from ${addresses.join(', ')}`;
    // Requests after the key's end were refused with invalid_key. If there are none, all requests came before its end.
    if (ended_at !== null && by_code.invalid_key) {
      const text = `${named} ended at ${minute(ended_at)} but is still used: ${requests} requests in the last hour`;
      add('refusals', `${text} (invalid_key: ${by_code.invalid_key}), ${from}`, audit);
    }
    if (ended_at !== null || limited === 0) continue;
    const text = `${named}: ${limited} of ${requests} requests got 429 in the last hour, ${from}`;
    const own = rate_limit && `its own limit is ${rate_limit.per_minute} per minute: only a new key can have another`;
    const limit = own ?? `the account's limit is ${health.rate_limit.per_minute} per minute`;
    const raise = own ? `keys create ${account} --name NAME --mode MODE --scopes SCOPES` : update;
    const rate = `${raise} --rate-limit '{"per_minute":NUMBER,"burst":NUMBER}'`;
    const next = 'Lowered by us? See audit. Key leaked? Rotate it. Load wanted? Raise the limit';
    add('refusals', `${text}; ${limit}. ${next}`, audit, `keys rotate ${id} --overlap-seconds 0`, rate);
  }
  const codes = Object.entries(by_code).filter(([code]) => !uncountedCodes.includes(code));
  const refused = codes.reduce((sum, [, count]) => sum + count, 0);
  if (total >= customerLimits.minRequests && refused > total * customerLimits.refusedShare) {
    const counts = codes.toSorted(([, one], [, other]) => other - one).map((pair) => pair.join(' '));
    const text = `${refused} of ${total} requests were refused in the last hour: ${counts.join(', ')}`;
    add('refusals', text, `traces list --account ${account} --status-code 4xx`);
  }
  for (const { channel, held, ...failing } of messages.channels.filter(({ status }) => status === 'failing')) {
    const wait = held === 1 ? '1 message waits' : `${held === 1000 ? '1,000 or more' : held} messages wait`;
    const next = 'After the customer sets up the channel again, waiting messages are sent automatically';
    add('channel', `channel ${channel}: ${refusalText(failing)}; ${wait}. ${next}`);
  }
  for (const { channel, code, count, last_at, last_error } of messages.failed_24h) {
    const text = `messages by ${channel}: ${count} failed in the last day (${code}), the last at ${minute(last_at)}`;
    add('messages', `${text}: ${last_error}`, `messages resend ${account} --since ${since} --code ${code}`);
  }
  if (plans.failed_24h > 0) {
    const text = `plans: ${plans.failed_24h} failed in the last day, the last: ${plans.last_error ?? '-'}`;
    add('plans', text, `traces list --account ${account} --status error`);
  }
  for (const endpoint of endpoints) {
    const { id, url, disabled_reason, paused, pending, failed_24h } = endpoint;
    const named = `endpoint ${id} (${url})`;
    // Failing endpoints are in a separate row. An endpoint that its customer switched off is not a problem.
    if (disabled_reason !== null) found.push(disabledFinding(endpoint, now));
    else if (failed_24h > 0)
      add('failing', `${named}: deliveries that ran out of retries in the last day: ${failed_24h}`, replayOf(id, now));
    if (paused)
      add('failing', `${named} is paused, pending: ${pending}`, `queues resume webhooks deliveries --endpoint ${id}`);
  }
  return found;
}

/** Returns the problems of all customers. */
export function attentionFindings(attention: CustomerAttention, now: Date): Finding[] {
  const { channels, accounts, endpoints, gone } = attention;
  return [
    ...goneFindings(gone, 'findings'),
    ...accounts.map(({ account, account_name, failed_messages, requests, refused, reasons }) => {
      const texts = {
        messages: `${failed_messages} messages failed`,
        modules: `${refused} of ${requests} requests refused, mostly because a module is off`,
        refusals: `${refused} of ${requests} requests refused`,
      };
      const text = `account ${account_name}, in the last hour: ${reasons.map((reason) => texts[reason]).join(', ')}`;
      return { text, mends: [`check --account ${account}`], runbooks: reasons.map((reason) => runbookOf[reason]) };
    }),
    ...channels.map(({ account, account_name, channel, ...failing }) => ({
      text: `account ${account_name}: channel ${channel}: ${refusalText(failing)}`,
      mends: [`check --account ${account}`],
      runbooks: [runbookOf.channel],
    })),
    ...endpoints.map((endpoint) => disabledFinding(endpoint, now, `account ${endpoint.account_name}: `)),
  ];
}

type Channel = Pick<AccountHealth['messages']['channels'][number], 'provider' | 'error' | 'failing_since'>;

function refusalText({ provider, error, failing_since }: Channel): string {
  const since = failing_since ? ` since ${minute(failing_since)}` : '';
  return `${provider} has refused the credentials${since}: ${error ?? '-'}`;
}

type Endpoint = Pick<AccountHealth['endpoints'][number], 'id' | 'url' | 'disabled_reason'>;

function disabledFinding({ id, url, disabled_reason }: Endpoint, now: Date, whose = ''): Finding {
  return {
    text: `${whose}endpoint ${id} (${url}) is disabled: ${disabled_reason}`,
    mends: [`endpoints enable ${id}`, replayOf(id, now)],
    runbooks: [runbookOf.failing],
  };
}

const replayOf = (id: string, now: Date) => `endpoints replay ${id} --since ${dayAgo(now)}`;

const dayAgo = (now: Date) => `${new Date(now.getTime() - dayMs).toISOString().slice(0, 19)}Z`;
