//go:build e2e

package e2e

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// selinuxPackages are further packages on the hosts of this test. netbase names protocols.
const selinuxPackages = "policycoreutils-python-utils,selinux-policy-default,netbase"

// selinuxTrip has a policy and its real programs. The machine's kernel runs no SELinux, so that all of it holds from the
// next boot on; what a kernel has now is for programs of the tests of the types.
var selinuxTrip = roundTrip{
	prepare: `printf 'SELINUX=permissive\nSELINUXTYPE=default\n' >/etc/selinux/config
semanage import <<'END'
boolean -D
port -D
fcontext -D
boolean -m --on httpd_enable_cgi
fcontext -a -t etc_t -f d /srv/old
END`,
	site: `    - selinux: [enforcing: {policy: default}]
    - seboolean:
        - httpd_can_network_connect: {value: true}
        - httpd_enable_cgi: {ensure: absent}
    - seport:
        - 8448: {type: http_port_t}
        - 80/tcp: {type: http_cache_port_t}
        - 10000-10010/udp: {type: ssh_port_t}
    - fcontext:
        - "/srv/web(/.*)?": {type: httpd_sys_content_t, restorecon: [/srv]}
        - "/var/log(/.*)?": {type: httpd_sys_content_t}
        - /srv/old: {ensure: absent, ftype: d}
`,
	state: `cat /etc/selinux/config; cd /var/lib/selinux/default/active; for f in *.local; do [ ! -e $f ] || grep -v -e '^#' -e '^$' $f | sort; done; semanage boolean -l -C -n; semanage port -l -C -n`,
	want: `SELINUX=enforcing
SELINUXTYPE=default
httpd_can_network_connect=1
/srv/web(/.*)?    system_u:object_r:httpd_sys_content_t:s0
/var/log(/.*)?    system_u:object_r:httpd_sys_content_t:s0
portcon tcp 80 system_u:object_r:http_cache_port_t:s0
portcon tcp 8448 system_u:object_r:http_port_t:s0
portcon udp 10000 - 10010 system_u:object_r:ssh_port_t:s0
httpd_can_network_connect      (on   ,   on)  Allow httpd to can network connect
http_cache_port_t              tcp      80
http_port_t                    tcp      8448
ssh_port_t                     udp      10000-10010
`,
	drift: `sed -i s/enforcing/permissive/ /etc/selinux/config
semanage import <<'END'
boolean -m --off httpd_can_network_connect
port -d -p tcp 8448
END`,
}

// playSelinux plays the trip on a new host with a policy. The image of such a host takes a minute, so it is built only
// on request.
func playSelinux(t *testing.T, trip roundTrip, host string, kind ...string) {
	t.Helper()
	if os.Getenv("CCM_SELINUX") == "" {
		t.Skip("NOT TESTED: a host with a policy of SELinux; make selinux")
	}
	f := leaseFleet(t)
	up := f.command(append([]string{"up", "1"}, kind...)...)
	up.Env = append(up.Env, "FLEET_PACKAGES="+selinuxPackages)
	outputOf(t, up)
	t.Cleanup(func() { f.tool("down", host) })
	require.True(t, f.holds(host, "command -v semanage"), "%s has no semanage", host)
	require.False(t, f.holds(host, "[ -e /sys/fs/selinux/enforce ]"), "the kernel runs SELinux: the trip would change the machine")
	t.Log("NOT TESTED: what a kernel that runs SELinux makes of it; this one runs none")
	write(t, f.path("root.yaml"), f.tool("inventory"))
	trip.host = host
	trip.on(t, f, "-i", "root.yaml")
}

func TestFleetSelinux(t *testing.T) { playSelinux(t, selinuxTrip, "h001") }

// TestFleetSelinuxRPM plays it on a host that has rpm.
func TestFleetSelinuxRPM(t *testing.T) { playSelinux(t, selinuxTrip, "r001", "--rpm") }
