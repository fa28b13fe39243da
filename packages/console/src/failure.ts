/** Returns an exception's name and message, for a bug report. */
export function failureText(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** Replaces the page with the error that ended the console. Uses only the DOM, since any part of the console may be broken. */
export function showFailure(error: unknown): void {
  console.error(error);
  const heading = document.createElement('h1');
  heading.textContent = 'The console has failed';
  const what = document.createElement('p');
  what.className = 'notice bad';
  what.setAttribute('role', 'alert');
  what.textContent = failureText(error);
  const hint = document.createElement('p');
  hint.textContent = 'The platform is not affected. Use the command line instead: npm run admin -- help.';
  const reload = document.createElement('button');
  reload.type = 'button';
  reload.className = 'primary';
  reload.textContent = 'Reload';
  reload.addEventListener('click', () => location.reload());
  const page = document.createElement('main');
  page.className = 'failure';
  page.append(heading, what, hint, reload);
  document.title = 'Failed – Console';
  document.body.replaceChildren(page);
}
