import { runProcess, startService } from '@customer-platform/service-kit';
import { crm } from './start.ts';

await runProcess(() => startService(crm, process.env));
