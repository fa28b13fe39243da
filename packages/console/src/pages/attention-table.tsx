import type { Queue } from '@customer-platform/contracts/accounts';
import { Link } from '@tanstack/react-router';
import type { AttentionItem, FailingChannel, TroubledAccount, useAttention } from '../attention.ts';
import { requeueAllAction } from '../dead-actions.ts';
import { EndpointActions } from '../endpoint-state.tsx';
import type { Word } from '../language.ts';
import { resendAction } from '../message-actions.ts';
import type { SeenProcess } from '../processes.ts';
import { resumeAction, retryAction } from '../queue-actions.ts';
import { deliveries, queueName } from '../queues.ts';
import { ActionButton } from '../ui/action.tsx';
import { count, countOf, duration, sentence } from '../ui/format.ts';
import { Runbook } from '../ui/gone.tsx';
import { EndpointError, LastError } from '../ui/last-error.tsx';
import { AccountLink, EndpointLink, QueueLink, ToQueue } from '../ui/links.tsx';
import { Failed, Loading, More } from '../ui/lists.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { Age, ClockAndElapsed, Elapsed, RelativeAndClock } from '../ui/time.tsx';
import { Tag } from '../ui/word.tsx';

/** The label of each kind of problem, its severity, and the term that explains it. */
const labels: Record<AttentionItem['kind'], [label: string, kind: 'bad' | 'warn', word?: Word]> = {
  gone: ['Gone', 'bad', 'gone'],
  blocked: ['Blocked', 'bad'],
  late: ['Late', 'bad', 'lag'],
  failing: ['Failing', 'bad', 'failing'],
  channel: ['Failing', 'bad', 'failing'],
  messages: ['Failed', 'bad', 'failed'],
  modules: ['Refused', 'warn', 'refused'],
  refusals: ['Refused', 'warn', 'refused'],
  disabled: ['Disabled', 'bad'],
  stranger: ['Invalid keys', 'warn'],
  dead: ['Dead', 'bad', 'dead'],
  retrying: ['Retrying', 'warn', 'retrying'],
  paused: ['Paused', 'warn'],
};

const columns: Column<AttentionItem>[] = [
  { id: 'kind', header: 'Problem', cell: (item) => <Label item={item} /> },
  { id: 'where', header: 'Where', cell: (item) => <Where item={item} /> },
  {
    id: 'what',
    header: 'What',
    kind: 'wide',
    cell: (item) => (
      <span className="prose">
        <What item={item} />
      </span>
    ),
  },
  { id: 'runbook', header: 'Runbook', cell: ({ runbook }) => <Runbook name={runbook} /> },
  { id: 'actions', header: '', kind: 'actions', cell: (item) => <Actions item={item} /> },
];

/** Everything that is known to need attention now. Each row links to the problem's page and has its actions. */
export function AttentionTable({ attention }: { attention: ReturnType<typeof useAttention> }) {
  const { items, queues, processes, failing, customers, checkedAt } = attention;
  const sources = [queues, processes, failing, customers];
  const isLoading = sources.some(({ isLoaded, error }) => !isLoaded && !error);
  const isKnown = sources.every(({ isLoaded, error }) => isLoaded && !error);
  return (
    <>
      <FailedSource what="Failing endpoints" source={failing} shownError={queues.error} />
      <FailedSource what="Processes" source={processes} shownError={queues.error} />
      <FailedSource what="Accounts and channels" source={customers} shownError={queues.error} />
      {(items.length > 0 || !isLoading) && (
        <DataTable
          label="What needs attention"
          columns={columns}
          rows={items}
          rowKey={({ key }) => key}
          empty={
            isKnown ? (
              <>
                <strong className="good">Nothing needs attention.</strong> Checked <Age at={checkedAt} />.
              </>
            ) : (
              'Nothing is known to need attention, but not everything responded.'
            )
          }
        />
      )}
      <Loading isLoading={isLoading} error={null} />
      <More list={failing} />
    </>
  );
}

/** Shows the error of a source, unless the page already shows the same error, `shownError`. */
function FailedSource(props: {
  what: string;
  source: { isLoaded: boolean; error: Error | null };
  shownError: Error | null;
}) {
  const { what, source, shownError } = props;
  if (!source.error || source.error.message === shownError?.message) return null;
  return (
    <Failed error={source.error}>
      {what} {source.isLoaded ? 'may be out of date' : 'are unknown'}:{' '}
    </Failed>
  );
}

/** Returns whether an item is an outage of the bus. */
function isOutage(item: AttentionItem): boolean {
  return item.kind === 'gone' && item.text.runbook === 'outbox-stuck';
}

function Label({ item }: { item: AttentionItem }) {
  // Without the bus, it is unknown whether a service is gone.
  if (isOutage(item)) return <Tag kind="bad">Outage</Tag>;
  const [label, kind, word] = labels[item.kind];
  return (
    <Tag kind={kind} {...(word ? { word } : {})}>
      {label}
    </Tag>
  );
}

function Where({ item }: { item: AttentionItem }) {
  switch (item.kind) {
    case 'gone':
      return <Link to="/services">{item.service}</Link>;
    case 'blocked':
      return (
        <Link to="/services">
          {item.processes.length === 1
            ? item.processes[0]!.service
            : countOf(item.processes.length, 'process', 'processes')}
        </Link>
      );
    case 'failing':
    case 'disabled':
      return <EndpointLink id={item.endpoint.id}>{hostOf(item.endpoint.url)}</EndpointLink>;
    case 'channel':
      return (
        <>
          {item.channel.channel} of <NamedAccount account={item.channel} />
        </>
      );
    case 'messages':
    case 'modules':
    case 'refusals':
      return <NamedAccount account={item.account} />;
    case 'stranger':
      return (
        <Link to="/addresses">
          <code>{item.address.address}</code>
        </Link>
      );
    default:
      return <QueueLink {...item.queue} />;
  }
}

/** A link to the account's page. `children` names the section that fixes the problem. */
function ToAccount({ id, children }: { id: string; children: string }) {
  return (
    <Link to="/accounts/$id" params={{ id }}>
      {children}
    </Link>
  );
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url;
}

function NamedAccount({ account }: { account: { account: string; account_name: string } }) {
  return (
    <Link to="/accounts/$id" params={{ id: account.account }} className="in-text">
      {account.account_name}
    </Link>
  );
}

function What({ item }: { item: AttentionItem }) {
  switch (item.kind) {
    case 'gone':
      return `${item.text.who}: ${item.text.so}.${isOutage(item) ? ' Restart it, or resume it if it was stopped. Nothing is lost meanwhile.' : ''}`;
    case 'blocked':
      return <Blocked text={item.text} processes={item.processes} />;
    case 'late':
      return <Late queue={item.queue} />;
    case 'retrying':
      return (
        <>
          <ToQueue {...item.queue}>{countOf(item.queue.failed_waiting ?? 0, 'entry', 'entries')}</ToQueue> wait for a
          retry. {item.queue.last_error && <LastError queue={item.queue} />}
        </>
      );
    case 'paused':
      return (
        <>
          <Pauses queue={item.queue} />
          {item.queue.lag_seconds > 60 && (
            <>
              . <Late queue={item.queue} />
            </>
          )}
        </>
      );
    case 'dead':
      return (
        <>
          <Link to="/dead" search={{ service: item.queue.service, queue: item.queue.queue }}>
            {countOf(item.queue.dead, 'dead event')}
          </Link>
          . {item.queue.last_error && <LastError queue={item.queue} />}
        </>
      );
    case 'failing':
      return (
        <>
          <AccountLink id={item.endpoint.account} /> · {item.endpoint.url} · failing for{' '}
          <Elapsed since={item.endpoint.failing_since} /> ·{' '}
          <ToQueue {...deliveries} by="endpoint">
            {countOf(item.endpoint.pending, 'delivery', 'deliveries')}
          </ToQueue>{' '}
          pending. {item.endpoint.last_error && <EndpointError endpoint={item.endpoint} />}
        </>
      );
    case 'disabled':
      return (
        <>
          <NamedAccount account={item.endpoint} /> · {item.endpoint.url} · disabled:{' '}
          {sentence(item.endpoint.disabled_reason ?? 'the reason is unknown')}
        </>
      );
    case 'channel':
      return <Channel channel={item.channel} account={item.account} />;
    case 'messages':
      return `${countOf(item.account.failed_messages, 'message')} failed in the last hour.`;
    case 'modules':
    case 'refusals':
      return (
        <>
          <Link to="/traces" search={{ account: item.account.account, status_code: '4xx' }}>
            {count(item.account.refused)} of {countOf(item.account.requests, 'request')}
          </Link>{' '}
          were refused in the last hour ({Math.round((item.account.refused / item.account.requests) * 100)}&nbsp;%)
          {item.kind === 'modules' ? ', mostly because a module is off.' : '.'}
        </>
      );
    case 'stranger':
      return (
        <>
          {countOf(item.address.invalid_keys, 'invalid key')} in the last hour, the last{' '}
          <RelativeAndClock at={item.address.last_at} />.
        </>
      );
  }
}

/** What processes wait for, and on which hosts they run, since the logs are there. */
function Blocked({ text, processes }: { text: string; processes: SeenProcess[] }) {
  const places = processes.map(
    ({ service, host, pid }) => `${service} on ${host}${pid === null ? '' : `, pid ${pid}`}`,
  );
  return `${text[0]!.toUpperCase()}${text.slice(1)}: ${places.join('; ')}.`;
}

function Late({ queue }: { queue: Queue }) {
  return (
    <>
      The oldest due entry is {duration(queue.lag_seconds)} old,{' '}
      <ToQueue {...queue}>{countOf(queue.ready, 'entry is', 'entries are')} ready</ToQueue>.{' '}
      {queue.last_error && <LastError queue={queue} />}
    </>
  );
}

function Channel({ channel, account }: { channel: FailingChannel; account: TroubledAccount | undefined }) {
  const { provider, error, failing_since } = channel;
  return (
    <>
      {provider} has refused the credentials since <ClockAndElapsed since={failing_since} />.{' '}
      {error && <span className="error-text">{sentence(error)}</span>}
      {account &&
        account.failed_messages > 0 &&
        ` ${countOf(account.failed_messages, 'message')} failed in the last hour.`}
    </>
  );
}

function Pauses({ queue }: { queue: Queue }) {
  const [first, ...others] = queue.pauses;
  if (!first) return null;
  const part = first.endpoint ? 'One endpoint' : first.account ? 'One account' : 'The whole queue';
  return (
    <>
      {part} is paused by {first.actor}, <RelativeAndClock at={first.at} />: “{first.reason}”
      {others.length > 0 && (
        <>
          {' '}
          and <ToQueue {...queue}>{countOf(others.length, 'more pause')}</ToQueue>
        </>
      )}
    </>
  );
}

/** The actions of an item, or a link to the page that has them. */
function Actions({ item }: { item: AttentionItem }) {
  switch (item.kind) {
    case 'gone':
    case 'blocked':
      return <Link to="/services">Services</Link>;
    case 'failing':
    case 'disabled':
      return <EndpointActions endpoint={item.endpoint} />;
    case 'messages': {
      const { account: id, account_name: name } = item.account;
      return (
        <ActionButton label={`Resend failed messages of ${name}`} make={() => resendAction({ id, name })}>
          Resend
        </ActionButton>
      );
    }
    case 'channel':
      return <ToAccount id={item.channel.account}>Channel</ToAccount>;
    case 'modules':
      return <ToAccount id={item.account.account}>Modules</ToAccount>;
    case 'refusals':
      return <ToAccount id={item.account.account}>Keys</ToAccount>;
    case 'stranger':
      return (
        <Link to="/traces" search={{ unauthenticated: 'true', status_code: '401' }}>
          Requests
        </Link>
      );
    case 'dead':
      return (
        <ActionButton label={`Requeue all of ${queueName(item.queue)}`} make={() => requeueAllAction(item.queue)}>
          Requeue all
        </ActionButton>
      );
    case 'paused':
      return <ResumeOfQueue queue={item.queue} />;
    case 'late':
    case 'retrying': {
      const target = { ...item.queue, of: queueName(item.queue) };
      return (
        <ActionButton label={`Retry ${target.of}`} make={() => retryAction(target, item.queue)}>
          Retry
        </ActionButton>
      );
    }
  }
}

/** A button that lifts a queue's only pause. If there are several, links to the queue's page, which has a button for each. */
function ResumeOfQueue({ queue }: { queue: Queue }) {
  const [pause, ...others] = queue.pauses;
  if (!pause || others.length > 0) return <ToQueue {...queue}>Pauses</ToQueue>;
  const { service, queue: name } = queue;
  const target = { service, queue: name, account: pause.account, endpoint: pause.endpoint, of: queueName(queue) };
  const isWhole = !pause.account && !pause.endpoint;
  return (
    <ActionButton label={`Resume ${target.of}`} make={() => resumeAction(target, pause, isWhole ? queue : undefined)}>
      Resume
    </ActionButton>
  );
}
