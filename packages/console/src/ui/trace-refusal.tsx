import { Refusal } from '../api.ts';
import { Loading } from './lists.tsx';

/** A refusal that says where a trace is instead, as the gateway writes it. */
const elsewhere = /^The trace is at (https?:\/\/\S+)$/;

/** Says why there are no traces here; where they are elsewhere, with a link. */
export function TraceRefusal({ error }: { error: Error }) {
  const url = error instanceof Refusal ? elsewhere.exec(error.message)?.[1] : undefined;
  if (url === undefined) return <Loading isLoading={false} error={error} />;
  return (
    <p className="notice">
      The trace is at{' '}
      <a href={url} rel="noreferrer">
        {url}
      </a>
    </p>
  );
}
