import { runProcess, startService } from '@customer-platform/service-kit';
import { calendar } from './start.ts';

await runProcess(() => startService(calendar, process.env));
