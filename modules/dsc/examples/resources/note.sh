#!/bin/sh
# Its properties come as variables.
set -eu
case $1 in
get)
	if test -f "$file"; then
		printf '{"file": "%s", "text": "%s", "_exist": true}\n' "$file" "$(cat "$file")"
	else
		printf '{"file": "%s", "_exist": false}\n' "$file"
	fi
	;;
set) printf '%s\n' "$text" >"$file" ;;
delete) rm -f "$file" ;;
esac
