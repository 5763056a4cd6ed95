#!/bin/sh
# A DSC resource in sh: the one line of a file. Its properties come as variables, and
# like many such scripts it prints texts where its schema has a boolean.
set -eu
if test "$1" != export && test -z "${file:-}"; then
	printf '{"error": "file is missing"}\n' >&2
	exit 2
fi
state() {
	if test -f "$file"; then
		printf '{"file": "%s", "text": "%s", "_exist": "true"}\n' "$file" "$(cat "$file")"
	else
		printf '{"file": "%s", "_exist": "false"}\n' "$file"
	fi
}
case $1 in
get) state ;;
set)
	if test "${_exist:-true}" = false; then
		rm -f "$file"
	else
		printf '%s' "${text:-}" >"$file"
	fi
	printf 'wrote %s\n' "$file" >&2
	;;
export) for file in "$2"/*; do state; done ;;
esac
