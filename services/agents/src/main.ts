import { runProcess, startService } from '@customer-platform/service-kit';
import { agents } from './start.ts';

await runProcess(() => startService(agents, process.env));
