#!/bin/sh
# Knows nothing of what sent it: its properties come as variables.
set -eu
test -n "${file:-}" || { echo '{"error": "file is missing"}' >&2; exit 2; }
case $1 in
get)
	if test -f "$file"; then
		printf '{"file": "%s", "text": "%s", "_exist": true}\n' "$file" "$(cat "$file")"
	else
		printf '{"file": "%s", "_exist": false}\n' "$file"
	fi
	;;
set)
	printf '%s\n' "$text" >"$file"
	printf '{"info": "wrote the banner"}\n' >&2
	;;
delete) rm -f "$file" ;;
esac
