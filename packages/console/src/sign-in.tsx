import { type FormEvent, useState } from 'react';
import { EnvironmentTag, Logo } from './brand.tsx';
import { environment, product } from './platform.ts';
import { startSession, useSession } from './session.ts';

/** Form for the admin token, with the error of the last one. */
export function SignIn() {
  const { message } = useSession();
  const [token, setToken] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (token.trim() !== '') startSession(token.trim());
  };
  return (
    <main className="sign-in">
      <form onSubmit={submit}>
        <p className="product">
          <Logo /> {product} {environment !== '' && <EnvironmentTag />}
        </p>
        <h1>Sign in to the console</h1>
        {message && (
          <p className="notice bad" role="alert">
            {message}
          </p>
        )}
        <label htmlFor="token">Admin token</label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          spellCheck={false}
          required
          // biome-ignore lint/a11y/noAutofocus: the page has only this form
          autoFocus
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
        <p className="hint">
          One of <code>ADMIN_TOKENS</code>, or <code>ADMIN_TOKEN</code>, which <code>npm start</code> writes to{' '}
          <code>.platform/demo.json</code>. The console keeps the token only in this tab.
        </p>
        <button type="submit" className="primary">
          Sign in
        </button>
      </form>
    </main>
  );
}
