/** Returns what an exception says: its kind and its message, for whoever reports it. */
export function failureText(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** Shows what ended the console instead of the whole page, without any part of it that may be what fails. */
export function showFailure(error: unknown): void {
  console.error(error);
  const heading = document.createElement('h1');
  heading.textContent = 'The console has failed';
  const what = document.createElement('p');
  what.className = 'notice bad';
  what.setAttribute('role', 'alert');
  what.textContent = failureText(error);
  const hint = document.createElement('p');
  hint.textContent =
    'The platform is not affected. Everything here is also on the command line: npm run admin -- help.';
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
