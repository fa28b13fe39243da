import { listenAndTell } from './listen.ts';

/** Body of the cheapest possible service: every request gets the same kilobyte of JSON. */
const body = Buffer.from(JSON.stringify({ id: '0190b7a4-0000-7000-8000-000000000000', text: 'x'.repeat(970) }));

listenAndTell((request, response) => {
  request.resume();
  response
    .writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length })
    .end(body);
});
