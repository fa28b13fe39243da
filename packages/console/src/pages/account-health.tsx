import type { AccountHealth } from '@customer-platform/contracts/accounts';
import { Link } from '@tanstack/react-router';
import type { Account } from '../account-actions.tsx';
import { EndpointActions, endpointColumns } from '../endpoint-state.tsx';
import { resendAction } from '../message-actions.ts';
import { ActionButton } from '../ui/action.tsx';
import { count, countOf, sentence } from '../ui/format.ts';
import { noneOf } from '../ui/gone.tsx';
import { EndpointLink } from '../ui/links.tsx';
import { Section } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { RelativeAndClock } from '../ui/time.tsx';
import { Tag } from '../ui/word.tsx';

interface Part {
  account: Account;
  health: AccountHealth;
}

type Failed = AccountHealth['messages']['failed_24h'][number];
type Channel = AccountHealth['messages']['channels'][number];
type Endpoint = AccountHealth['endpoints'][number];

/** Waiting messages are counted up to this number. */
const mostHeld = 1_000;

/** HTTP statuses of error codes, to filter traces. Codes with several statuses are filtered by 4xx. */
const statusOf: Record<string, string> = {
  rate_limited: '429',
  key_required: '401',
  invalid_key: '401',
  not_found: '404',
  module_off: '404',
  invalid_state: '409',
  internal_error: '500',
  service_unavailable: '503',
};

/** Refused requests of the last hour by error code; empty if there are none. */
export function Refusals({ account, health }: Part) {
  const { total, by_code } = health.requests.last_hour;
  const rows = Object.entries(by_code).map(([code, refused]) => ({ code, refused }));
  if (rows.length === 0) return null;
  const columns: Column<(typeof rows)[number]>[] = [
    { id: 'code', header: 'Error code', cell: ({ code }) => <code>{code}</code> },
    {
      id: 'requests',
      header: 'Requests',
      kind: 'number',
      sortBy: ({ refused }) => refused,
      cell: ({ code, refused }) => (
        <Link to="/traces" search={{ account: account.id, status_code: statusOf[code] ?? '4xx' }}>
          {count(refused)}
        </Link>
      ),
    },
    {
      id: 'share',
      header: 'Share of the last hour',
      kind: 'wide',
      cell: ({ refused }) => `${((refused / Math.max(1, total)) * 100).toFixed(1)} % of ${countOf(total, 'request')}`,
    },
  ];
  return (
    <Section title="Refused requests">
      <DataTable
        label="Refused requests"
        columns={columns}
        rows={rows.toSorted((one, other) => other.refused - one.refused)}
        rowKey={({ code }) => code}
        empty=""
      />
    </Section>
  );
}

/** Messages that failed in the last 24 hours, by channel and error code. */
export function FailedMessages({ account, health }: Part) {
  const failed = health.messages.failed_24h;
  const named = { id: account.id, name: account.name };
  const columns: Column<Failed>[] = [
    { id: 'channel', header: 'Channel', cell: ({ channel }) => channel },
    { id: 'code', header: 'Error code', cell: ({ code }) => <code>{code}</code> },
    {
      id: 'count',
      header: 'Failed',
      word: 'failed',
      kind: 'number',
      sortBy: (each) => each.count,
      cell: (each) => <span className="bad">{count(each.count)}</span>,
    },
    { id: 'last', header: 'Last', cell: ({ last_at }) => <RelativeAndClock at={last_at} /> },
    {
      id: 'error',
      header: 'Last error',
      kind: 'wide',
      cell: ({ last_error }) => <span className="error-text">{last_error}</span>,
    },
    {
      id: 'actions',
      header: '',
      kind: 'actions',
      cell: ({ code }) => (
        <ActionButton label={`Resend messages with ${code}`} make={() => resendAction(named, code)}>
          Resend
        </ActionButton>
      ),
    },
  ];
  return (
    <Section
      title="Failed messages"
      actions={failed.length > 0 && <ActionButton make={() => resendAction(named)}>Resend all</ActionButton>}
    >
      <DataTable
        label="Failed messages"
        columns={columns}
        rows={failed}
        rowKey={({ channel, code }) => `${channel} ${code}`}
        empty={noneOf('No message failed in the last 24 hours.', goneOf(health, 'messaging'))}
      />
    </Section>
  );
}

/** Returns the service if it did not reply; an empty array if it did. */
function goneOf({ gone }: AccountHealth, service: AccountHealth['gone'][number]): string[] {
  return gone.includes(service) ? [service] : [];
}

/** Channels that the account has set up. */
export function Channels({ health }: { health: AccountHealth }) {
  return (
    <Section title="Channels">
      <DataTable
        label="Channels"
        columns={channelColumns}
        rows={health.messages.channels}
        rowKey={({ channel }) => channel}
        empty={noneOf('The account has no channels.', goneOf(health, 'messaging'))}
      />
    </Section>
  );
}

const channelColumns: Column<Channel>[] = [
  { id: 'channel', header: 'Channel', cell: ({ channel }) => channel },
  { id: 'provider', header: 'Provider', cell: ({ provider }) => provider },
  {
    id: 'status',
    header: 'Status',
    cell: ({ status }) =>
      status === 'failing' ? (
        <Tag kind="bad" word="failing">
          failing
        </Tag>
      ) : (
        <Tag kind="good">{status}</Tag>
      ),
  },
  {
    id: 'since',
    header: 'Failing since',
    cell: ({ failing_since }) =>
      failing_since ? <RelativeAndClock at={failing_since} /> : <span className="none">–</span>,
  },
  { id: 'error', header: 'Error', kind: 'wide', cell: (channel) => <ChannelError channel={channel} /> },
];

/** Why a channel fails, how many messages wait, and that the customer must fix it, since operators never see credentials. */
function ChannelError({ channel: { status, error, held } }: { channel: Channel }) {
  if (status !== 'failing') return <span className="none">–</span>;
  return (
    <>
      {error && <span className="error-text">{sentence(error)}</span>} {held >= mostHeld ? 'At least ' : ''}
      {countOf(held, 'message waits', 'messages wait')}. After the customer sets up the channel again, waiting messages
      are sent automatically.
    </>
  );
}

/** Webhook endpoints of the account, with the failed deliveries of the last 24 hours. */
export function AccountEndpoints({ account, health }: Part) {
  const columns: Column<Endpoint>[] = [
    endpointColumns.url,
    endpointColumns.state,
    endpointColumns.failing,
    {
      id: 'failed',
      header: 'Failed in 24 h',
      word: 'failed',
      kind: 'number',
      sortBy: ({ failed_24h }) => failed_24h,
      cell: ({ id, failed_24h }) => <EndpointCount id={id} value={failed_24h} />,
    },
    {
      id: 'pending',
      header: 'Pending',
      kind: 'number',
      sortBy: ({ pending }) => pending,
      cell: ({ id, pending }) => <EndpointCount id={id} value={pending} />,
    },
    {
      id: 'actions',
      header: '',
      kind: 'actions',
      cell: (endpoint) => <EndpointActions endpoint={{ ...endpoint, account: account.id }} />,
    },
  ];
  return (
    <Section title="Endpoints">
      <DataTable
        label="Endpoints"
        columns={columns}
        rows={health.endpoints}
        rowKey={({ id }) => id}
        empty={noneOf('The account has no webhook endpoints.', goneOf(health, 'webhooks'))}
      />
    </Section>
  );
}

/** The number of an endpoint's deliveries as a link; 0 is dimmed. */
function EndpointCount({ id, value }: { id: string; value: number }) {
  if (value === 0) return <span className="none">0</span>;
  return <EndpointLink id={id}>{count(value)}</EndpointLink>;
}

/** The agents' failed plans of the last 24 hours; empty if there are none. */
export function Plans({ account, health }: Part) {
  const { failed_24h: failed, last_error } = health.plans;
  if (failed === 0) return null;
  return (
    <Section title="Plans">
      <p className="notice bad">
        <Link to="/traces" search={{ account: account.id, status: 'error' }}>
          {countOf(failed, 'plan')}
        </Link>{' '}
        failed in the last 24 hours. {last_error && <span className="error-text">{last_error}</span>}
      </p>
    </Section>
  );
}
