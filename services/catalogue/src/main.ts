import { runProcess, startService } from '@customer-platform/service-kit';
import { catalogue } from './start.ts';

await runProcess(() => startService(catalogue, process.env));
