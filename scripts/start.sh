#!/bin/sh
# npm start: handles --help and rejects invalid arguments before it installs anything.
node=${npm_node_execpath:-node}
answer=$("$node" scripts/answer-start.mjs "$@")
status=$?
[ -z "$answer" ] || echo "$answer"
if [ "$status" != 0 ] || [ -n "$answer" ]; then exit "$status"; fi
"$node" scripts/bootstrap.mjs start || exit
exec node_modules/.bin/node deploy/local/start.ts "$@"
