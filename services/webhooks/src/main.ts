import { runProcess, startService } from '@customer-platform/service-kit';
import { webhooks } from './start.ts';

await runProcess(() => startService(webhooks, process.env));
