import { Link } from '@tanstack/react-router';
import { useAttention } from '../attention.ts';
import { DepthChart } from '../ui/depth.tsx';
import { Loading, useList } from '../ui/lists.tsx';
import { Page, Section } from '../ui/page.tsx';
import { TrafficCharts } from '../ui/traffic-charts.tsx';
import { Hint } from '../ui/word.tsx';
import { AttentionTable } from './attention-table.tsx';
import { AuditTable } from './audit-table.tsx';

/** Number of changes that the page shows. */
const changes = { limit: 8 };

/** How old the data of the attention table may be. */
const delays =
  'Queues are polled every 2 s, processes and endpoints every 5 s, accounts, channels and addresses every 10 s.';

/** The first page: traffic, what needs attention, and the last changes. */
export function OverviewPage() {
  const attention = useAttention();
  const audit = useList('GET /admin/audit', { query: changes });
  const { length } = attention.items;
  return (
    <Page title="Overview">
      <TrafficCharts>
        <DepthChart name="webhooks/deliveries" title="Deliveries waiting" />
        <DepthChart name="messaging/messages" title="Messages waiting" />
      </TrafficCharts>
      <Section
        title={length > 0 ? `Attention (${length})` : 'Attention'}
        actions={<Hint text="at most 10 s old" meaning={delays} />}
      >
        <AttentionTable attention={attention} />
      </Section>
      <Section title="Last changes" actions={<Link to="/audit">All changes</Link>}>
        <Loading {...audit} />
        {audit.isLoaded && <AuditTable label="Last changes" rows={audit.items} empty="No changes yet." />}
      </Section>
    </Page>
  );
}
