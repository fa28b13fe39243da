#!/bin/sh
# npm start: answers --help, and refuses wrong arguments, before anything is installed.
node=${npm_node_execpath:-node}
answer=$("$node" scripts/answer-start.mjs "$@")
status=$?
[ -z "$answer" ] || echo "$answer"
if [ "$status" != 0 ] || [ -n "$answer" ]; then exit "$status"; fi
"$node" scripts/bootstrap.mjs start || exit
exec node_modules/.bin/node deploy/local/start.ts "$@"
