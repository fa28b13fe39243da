import { runProcess, startService } from '@customer-platform/service-kit';
import { messaging } from './start.ts';

await runProcess(() => startService(messaging, process.env));
