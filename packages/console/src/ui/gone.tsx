import { countOf } from './format.ts';

/** Says which services are gone; nothing where none is. */
export function Gone({ services }: { services: readonly string[] }) {
  if (services.length === 0) return null;
  return (
    <p className="notice bad" role="status">
      {countOf(services.length, 'service is gone', 'services are gone')}: <strong>{services.join(', ')}</strong>. No
      process replied within 1 s, so nothing of theirs is shown here.
    </p>
  );
}
