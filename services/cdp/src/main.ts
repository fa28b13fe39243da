import { runProcess, startService } from '@customer-platform/service-kit';
import { cdp } from './start.ts';

await runProcess(() => startService(cdp, process.env));
