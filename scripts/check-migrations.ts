import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { migrationFaultsOf } from './migrations.ts';

/** Last migration of the first release, by folder. The check skips older migrations, because no earlier release runs next to them. */
const first: Record<string, string> = {
  'gateway/migrations': '0002_audit.sql',
  'packages/service-kit/migrations': '0004_operators.sql',
  'services/agents/migrations': '0010_last_errors.sql',
  'services/calendar/migrations': '0006_reminders_by_account.sql',
  'services/catalogue/migrations': '0003_last_errors.sql',
  'services/cdp/migrations': '0005_rules_too_large.sql',
  'services/crm/migrations': '0002_requests.sql',
  'services/messaging/migrations': '0009_receipts_by_account.sql',
  'services/webhooks/migrations': '0003_failing_endpoints.sql',
};

process.chdir(join(import.meta.dirname, '..'));
const files = globSync('{gateway,packages/*,services/*}/migrations/*.sql').sort();
const faults = files
  .filter((file) => basename(file) > (first[dirname(file)] ?? ''))
  .flatMap((file) => {
    const folder = dirname(dirname(file));
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
    return migrationFaultsOf(file, readFileSync(file, 'utf8'), { deployable: basename(folder), version });
  });
// Otherwise a moved folder would be skipped silently.
for (const folder of Object.keys(first))
  if (!files.some((file) => dirname(file) === folder)) faults.push(`${folder}: no migrations were read`);
for (const fault of faults) console.error(fault);
console.log(`migrations: ${files.length} read, ${faults.length} faults`);
process.exit(faults.length === 0 ? 0 : 1);
