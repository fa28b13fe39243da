import type { AccountHealth } from '@customer-platform/contracts/accounts';
import { Link } from '@tanstack/react-router';
import {
  type Account,
  editAction,
  endedAt,
  modulesAction,
  planAction,
  statusAction,
  switchOnAction,
} from '../account-actions.tsx';
import { ActionButton } from '../ui/action.tsx';
import { Id } from '../ui/copy.tsx';
import { rateText } from '../ui/format.ts';
import { Gone } from '../ui/gone.tsx';
import { Loading, useList, useResource } from '../ui/lists.tsx';
import { Facts, Page, Section } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { TrafficCharts } from '../ui/traffic-charts.tsx';
import { AccountEndpoints, Channels, FailedMessages, Plans, Refusals } from './account-health.tsx';
import { Keys } from './account-keys.tsx';
import { Members } from './account-members.tsx';
import { AuditTable } from './audit-table.tsx';

/** Number of changes that the page shows. */
const changes = 8;

/** One account with its settings, health, keys, members and actions. */
export function AccountPage({ id }: { id: string }) {
  const params = { account_id: id };
  const { data, isLoading, error } = useResource('GET /admin/accounts/{account_id}', { params });
  const health = useResource('GET /admin/accounts/{account_id}/health', { params });
  const keys = useList('GET /admin/accounts/{account_id}/keys', { params, query: { limit: 100 } });
  const members = useList('GET /admin/accounts/{account_id}/members', { params });
  const audit = useList('GET /admin/audit', { query: { account: id, limit: changes } });
  const isSandbox = data?.sandbox_id === null;
  const usable = keys.items.filter((key) => endedAt(key) === null).length;
  const actions = data && !isSandbox && (
    <>
      <ActionButton make={() => editAction(data)}>Edit</ActionButton>
      <ActionButton make={() => planAction(data)}>Plan</ActionButton>
      <ActionButton make={() => modulesAction(data)}>Modules</ActionButton>
      <ActionButton isDangerous={data.status === 'active'} make={() => statusAction(data, usable)}>
        {data.status === 'active' ? 'Suspend' : 'Activate'}
      </ActionButton>
    </>
  );
  return (
    <Page title={data?.name ?? 'Account'} actions={actions}>
      <Loading isLoading={isLoading} error={error} />
      {data && (
        <>
          <Gone services={health.data?.gone ?? []} what="channels, messages, endpoints or plans" />
          <AccountFacts account={data} health={health.data} />
          <TrafficCharts account={id} />
          {!error && <Loading isLoading={false} error={health.error} />}
          {health.data && (
            <div className="pair">
              <Refusals account={data} health={health.data} />
              <Channels health={health.data} />
            </div>
          )}
          {!isSandbox && <Keys account={data} keys={keys} health={health.data} />}
          {health.data && (
            <>
              <AccountEndpoints account={data} health={health.data} />
              <FailedMessages account={data} health={health.data} />
              <Plans account={data} health={health.data} />
            </>
          )}
          <Members account={data} members={members} />
          <Section
            title="Last changes"
            actions={
              <Link to="/audit" search={{ account: id }}>
                All changes
              </Link>
            }
          >
            <Loading {...audit} />
            {audit.isLoaded && (
              <AuditTable isOfOneAccount label="Last changes" rows={audit.items} empty="No changes yet." />
            )}
          </Section>
        </>
      )}
    </Page>
  );
}

function AccountFacts({ account, health }: { account: Account; health: AccountHealth | undefined }) {
  const { id, status, plan, modules, rate_limit, sandbox_id } = account;
  const off = health?.modules_off ?? [];
  const on = plan.modules.filter((name) => modules[name]?.on !== false);
  return (
    <Facts
      facts={{
        Status:
          status === 'active' ? <span className="tag good">active</span> : <span className="tag bad">{status}</span>,
        Plan: `${plan.name}${plan.api ? '' : ', without the API'}`,
        'Modules on': on.join(', ') || 'none',
        ...(off.length > 0 ? { 'Modules off': <ModulesOff account={account} off={off} /> } : {}),
        Rate: rateText(rate_limit),
        Timezone: account.timezone,
        Created: <Time at={account.created_at} />,
        Id: <Id value={id} />,
        See: (
          <span className="links">
            <Link to="/traces" search={{ account: id }}>
              traces
            </Link>{' '}
            <Link to="/dead" search={{ account: id }}>
              dead events
            </Link>{' '}
            {sandbox_id ? (
              <Link to="/accounts/$id" params={{ id: sandbox_id }}>
                sandbox
              </Link>
            ) : (
              <OwnerLink sandbox={id} />
            )}
          </span>
        ),
      }}
    />
  );
}

/** Modules whose operations are refused, each with a button to switch it on. A sandbox has the modules of its account. */
function ModulesOff({ account, off }: { account: Account; off: AccountHealth['modules_off'] }) {
  const isInPlan = (name: (typeof off)[number]) => account.plan.modules.includes(name);
  return (
    <span className="links">
      {off.map((name) => (
        <span key={name}>
          <span className="warn-text">{isInPlan(name) ? name : `${name} (not in the plan)`}</span>{' '}
          {account.sandbox_id && isInPlan(name) && (
            <ActionButton label={`Switch on ${name}`} make={() => switchOnAction(account, name)}>
              Switch on
            </ActionButton>
          )}
        </span>
      ))}
    </span>
  );
}

/** A link to the live account of a sandbox, which has its keys and modules. */
function OwnerLink({ sandbox }: { sandbox: string }) {
  const [owner] = useResource('GET /admin/accounts', { query: { q: sandbox } }, false).data?.data ?? [];
  if (!owner) return null;
  return (
    <Link to="/accounts/$id" params={{ id: owner.id }}>
      live account
    </Link>
  );
}
