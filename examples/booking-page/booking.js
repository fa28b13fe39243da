const element = (id) => document.getElementById(id);
const [form, times, later, message, book] = ['form', 'times', 'later', 'message', 'book'].map(element);

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const dayOf = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' });
const timeOf = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const wholeOf = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'short' });

/** The form that was sent last, and its Idempotency-Key. An unchanged form is sent with the same key, so it books once. */
let sent = { body: '', key: '' };
/** Start of the next list of free times. */
let until;

/** Returns the parsed response of this page's server. Throws an Error with a message for the visitor; `refusal` has status and body. */
async function request(path, options) {
  let response;
  let body;
  try {
    response = await fetch(path, options);
    body = await response.json();
  } catch {
    throw new Error('The server did not respond. Please try again: nothing is booked twice.');
  }
  if (response.ok) return body;
  throw Object.assign(new Error(body.error.message), { refusal: { status: response.status, ...body } });
}

function say(text) {
  message.textContent = text;
  if (text) message.focus();
}

/** Adds free times, grouped by day. */
function show(list) {
  for (const startsAt of list) {
    const date = new Date(startsAt);
    const name = dayOf.format(date);
    let day = times.lastElementChild;
    if (day?.dataset.day !== name) {
      day = document.createElement('div');
      day.dataset.day = name;
      day.append(Object.assign(document.createElement('h2'), { textContent: name }));
      day.append(Object.assign(document.createElement('div'), { className: 'day' }));
      times.append(day);
    }
    const input = Object.assign(document.createElement('input'), { type: 'radio', name: 'starts_at', value: startsAt });
    input.required = true;
    const label = document.createElement('label');
    label.append(input, timeOf.format(date));
    day.lastElementChild.append(label);
  }
}

async function load(from) {
  const query = from ? `?from=${encodeURIComponent(from)}` : '';
  try {
    const list = await request(`/free-times${query}`);
    element('title').textContent = list.title;
    document.title = `Book: ${list.title}`;
    until = list.until;
    later.hidden = !until;
    show(list.times);
    say(list.times.length > 0 ? '' : 'There are no free times on these days.');
  } catch (error) {
    say(error.message);
  }
}

function keyFor(body) {
  if (sent.body !== body) {
    const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
    sent = { body, key: bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('') };
  }
  return sent.key;
}

function showBooked({ title, starts_at, staff, location, meeting_link }) {
  const where = location || meeting_link;
  const when = wholeOf.format(new Date(starts_at));
  element('summary').textContent = `${title} with ${staff}: ${when}${where ? `, ${where}` : ''}.`;
  form.hidden = true;
  element('done').hidden = false;
  element('booked').focus();
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  say('');
  book.disabled = true;
  const body = JSON.stringify(Object.fromEntries(new FormData(form)));
  try {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': keyFor(body) };
    showBooked(await request('/bookings', { method: 'POST', headers, body }));
  } catch ({ message: text, refusal }) {
    // The platform stores an error under its key, so the next attempt needs a new key. After a lost response the same key is sent again.
    if (refusal && refusal.status < 500) sent = { body: '', key: '' };
    if (refusal?.error.code === 'slot_taken') {
      times.replaceChildren();
      show(refusal.times);
    }
    say(text);
  } finally {
    book.disabled = false;
  }
});

later.addEventListener('click', () => load(until));
element('zone').textContent = `Times are in your time zone, ${zone}.`;
await load();
