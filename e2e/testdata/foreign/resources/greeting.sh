#!/bin/sh
# In the form of the first design: properties are options.
set -eu
verb=$1 file= words=
shift
while test $# -gt 0; do
	case $1 in
	--file) file=$2 ;;
	--words) words=$2 ;;
	esac
	shift 2
done
case $verb in
get) printf '{"file": "%s", "words": "%s"}\n' "$file" "$(sed -n 1p "$file" 2>/dev/null || true)" ;;
set)
	printf '%s\n' "$words" >"$file"
	echo '{"verbose": {"message": "greeted"}}' >&2
	;;
esac
