import { Refusal } from '../api.ts';
import { Loading } from './lists.tsx';

/** Matches the gateway's message with the URL of a trace in another system. */
const elsewhere = /^The trace is at (https?:\/\/\S+)$/;

/** Shows why the gateway has no traces. If they are in another system, links to them. */
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
