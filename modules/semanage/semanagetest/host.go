// Package semanagetest has a host with SELinux for tests: its files, and small programs in the place of semanage(8) and
// its like, which read and write them as the real ones do. The real ones run in e2e.
package semanagetest

import (
	"encoding/binary"

	"github.com/ccm-push/ccm-push/modules/modtest"
)

// semanage knows import alone; of the policy it has port 80 of tcp, and no type that begins with no.
const semanage = `#!/bin/sh
PATH=/bin:/usr/bin
set -f
at=${0%/*}/../var/lib/selinux/targeted/active
[ "$1" = import ] || exit 2
fail() { echo "libsemanage.add_user: a warning" >&2; echo "ValueError: $*" >&2; exit 1; }
while read -r object verb rest; do
	user=system_u range=s0 ftype=a
	set -- $rest
	while [ $# -gt 1 ]; do
		case $1 in
		-t) type=$2; shift ;;
		-s) user=$2; shift ;;
		-r) range=$2; shift ;;
		-f) ftype=$2; shift ;;
		-p) protocol=$2; shift ;;
		--on) value=1 ;;
		--off) value=0 ;;
		esac
		shift
	done
	label=$user:object_r:$type:$range
	[ "$type" != '<<none>>' ] || label=$type
	case $object in
	boolean) file=$at/booleans.local key=$1= line=$1=$value ;;
	port) file=$at/ports.local key="portcon $protocol $(echo $1 | sed 's/-/ - /') " line="$key$label" ;;
	fcontext)
		file=$at/file_contexts.local key="$1 "
		case $ftype in a) ;; f) key="$1 -- " ;; *) key="$1 -$ftype " ;; esac
		line="$key$label"
		;;
	esac
	case $object$verb$type in *-[am]no*) fail "Type $type is invalid" ;; esac
	[ "$object$verb$1" != port-a80 ] || fail "Port tcp/80 already defined"
	if [ $verb = -D ]; then rm -f $file; continue; fi
	if [ -e $file ]; then awk -v "k=$key" 'index($0, k) != 1' $file >$file.new && mv $file.new $file; else echo "# This file is auto-generated" >$file; fi
	[ $verb = -d ] || echo "$line" >>$file
	grep -qv '^#' $file || rm $file
done
`

const setsebool = `#!/bin/sh
PATH=/bin:/usr/bin
root=${0%/*}/..
if [ $1 = -P ]; then shift; echo "boolean -m --$2 $1" | ${0%/*}/semanage import || exit 1; fi
[ $2 = on ] && echo 1 1 >$root/sys/fs/selinux/booleans/$1 || echo 0 0 >$root/sys/fs/selinux/booleans/$1
`

const setenforce = "#!/bin/sh\nprintf $1 >${0%/*}/../sys/fs/selinux/enforce\n"

// restorecon finds that labels differ until it has set some.
const restorecon = `#!/bin/sh
labels=${0%/*}/../labels
if [ "$2" = -n ]; then [ -e $labels ] || echo "Would relabel /srv/web from var_t to httpd_sys_content_t"; else echo set >$labels; fi
`

// policy has types and booleans as libsepol writes them, and nothing else.
func policy() string {
	word := func(n int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }
	const primary, attribute = 1, 2
	text := "before a policy"
	for name, properties := range map[string]int{"http_port_t": primary, "http_cache_port_t": primary, "ssh_port_t": primary, "defined_port_t": attribute} {
		text += word(len(name)) + word(0) + word(properties) + word(0) + name
	}
	for _, name := range []string{"httpd_can_network_connect", "ftpd_full_access"} {
		text += word(0) + word(0) + word(len(name)) + name
	}
	return text
}

// Disabled is a host that has a policy, and whose kernel runs no SELinux.
func Disabled(more ...modtest.Node) []modtest.Node {
	var all []modtest.Node
	for _, dir := range []string{
		"bin", "etc", "etc/selinux", "etc/selinux/targeted", "etc/selinux/targeted/policy", "etc/selinux/targeted/contexts", "etc/selinux/targeted/contexts/files",
		"sys", "sys/fs", "var", "var/lib", "var/lib/selinux", "var/lib/selinux/targeted", "var/lib/selinux/targeted/active",
	} {
		all = append(all, modtest.Node{Path: dir, Dir: true})
	}
	for name, text := range map[string]string{"semanage": semanage, "setsebool": setsebool, "setenforce": setenforce, "restorecon": restorecon} {
		all = append(all, modtest.Node{Path: "bin/" + name, Mode: 0o755, Text: text})
	}
	return append(append(all,
		modtest.Node{Path: "etc/selinux/targeted/policy/policy.33", Text: policy()},
		modtest.Node{Path: "etc/selinux/config", Text: "# the mode\nSELINUX=permissive\nSELINUXTYPE=targeted\n"},
		modtest.Node{Path: "etc/selinux/targeted/contexts/files/file_contexts", Text: "/var/www(/.*)?\tsystem_u:object_r:httpd_sys_content_t:s0\n"},
	), more...)
}

// Running is a host whose kernel runs SELinux in permissive mode; httpd_can_network_connect is off.
func Running(more ...modtest.Node) []modtest.Node {
	return Disabled(append([]modtest.Node{
		{Path: "sys/fs/selinux", Dir: true}, {Path: "sys/fs/selinux/booleans", Dir: true},
		{Path: "sys/fs/selinux/enforce", Text: "0"}, {Path: "sys/fs/selinux/booleans/httpd_can_network_connect", Text: "0 0\n"},
	}, more...)...)
}

// Kept is a file of the store.
func Kept(name, text string) modtest.Node {
	return modtest.Node{Path: "var/lib/selinux/targeted/active/" + name, Text: text}
}
