import { countOf } from './format.ts';

/**
 * Returns whether the bus is what does not respond. The gateway asks itself over it too, so that one that replied to
 * this page and is gone all the same is a gateway without a bus.
 */
export function isBusGone(gone: readonly string[]): boolean {
  return gone.includes('gateway');
}

/** Says which services are gone, or that the bus is; nothing where none is. `what` is what the page lists of each. */
export function Gone({
  services,
  what,
}: {
  services: readonly string[];
  what: 'queues' | 'processes' | 'dead events';
}) {
  if (services.length === 0) return null;
  return (
    <p className="notice bad" role="status">
      {isBusGone(services) ? (
        <BusGone isFromDatabase={what !== 'processes'} />
      ) : (
        <>
          {countOf(services.length, 'service is gone', 'services are gone')}: <strong>{services.join(', ')}</strong>. No
          process replied within 1 s: {services.length === 1 ? 'its' : 'their'} {what} are not listed.
        </>
      )}
    </p>
  );
}

/** Says that the bus does not respond, and where that is described. */
export function BusGone({ isFromDatabase }: { isFromDatabase: boolean }) {
  return (
    <>
      The bus (NATS) does not respond{isFromDatabase && ', or PostgreSQL if Services lists processes'}: nobody can be
      asked, services may be well. See <code>docs/runbooks/outbox-stuck.md</code>.
    </>
  );
}
