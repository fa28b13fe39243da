import { failureText } from '../failure.ts';
import { Page } from './page.tsx';

/** Shows the error of a page that could not be rendered. */
export function Broken({ error }: { error: unknown }) {
  return (
    <Page title="This page has failed">
      <p className="notice bad" role="alert">
        {failureText(error)}
      </p>
      <button type="button" className="primary" onClick={() => location.reload()}>
        Reload
      </button>
    </Page>
  );
}
