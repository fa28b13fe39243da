import { buffer } from 'node:stream/consumers';
import { hangingEndpoints } from '../hanging-endpoints.ts';
import { growingContact, oversizedEvents } from '../hostile-events.ts';
import { hostileBodies, hostileTemplates } from '../hostile-texts.ts';
import { type HostileSetting, type Hostility, Tally } from '../hostility.ts';
import { slowBodies, slowHooks, slowUploads, unknownHooks } from '../slow-bodies.ts';
import { listenAndTell } from './listen.ts';

// Hostile customers, in a process of their own so that their cost is not mistaken for slow responses. POST /start with the setting starts
// all of them; GET /stop ends them and returns the responses that each got, with an error if one failed.
const hostilities: Hostility[] = [
  hostileTemplates,
  hostileBodies,
  growingContact,
  oversizedEvents,
  hangingEndpoints,
  slowBodies,
  slowHooks,
  unknownHooks,
  slowUploads,
];
const end = new AbortController();
let running: Promise<{ name: string; counts: Tally['counts']; error?: string }>[] = [];

function start(setting: HostileSetting): void {
  running = hostilities.map(async ({ name, run }) => {
    const tally = new Tally();
    try {
      await run(setting, end.signal, tally);
    } catch (error) {
      if (!end.signal.aborted) return { name, counts: tally.counts, error: String(error) };
    }
    return { name, counts: tally.counts };
  });
}

listenAndTell(async (request, response) => {
  if (request.url === '/start') {
    start(JSON.parse((await buffer(request)).toString()) as HostileSetting);
    response.writeHead(204).end();
    return;
  }
  end.abort();
  response.setHeader('content-type', 'application/json').end(JSON.stringify(await Promise.all(running)));
});
