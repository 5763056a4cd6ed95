//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFleetEdit applies types that edit files to a host, and undoes them.
func TestFleetEdit(t *testing.T) {
	f := startFleet(t)
	for name, trip := range map[string]roundTrip{
		"line": {
			prepare: `printf 'one\n#two = 2\nthree' >/etc/e2e-edit; chmod 640 /etc/e2e-edit; chown deploy: /etc/e2e-edit; rm -f /etc/e2e-new`,
			site: `    - line:
        - two: {path: /etc/e2e-edit, line: two = 3, regexp: "^#?two"}
        - block: {path: /etc/e2e-edit, block: "a\nb\n", before: ^three}
        - /etc/e2e-new: {line: new, create: true, owner: deploy, group: root, mode: "0640"}
`,
			state: `cat /etc/e2e-edit; echo; cat /etc/e2e-new; stat -c '%U %G %a' /etc/e2e-edit /etc/e2e-new; :`,
			want:  "one\ntwo = 3\n# BEGIN ccm-push block\na\nb\n# END ccm-push block\nthree\nnew\ndeploy deploy 640\ndeploy root 640\n",
			drift: `sed -i 's/^two.*/two = 4/; s/^b$/c/' /etc/e2e-edit`,
		},
		"replace": {
			prepare: `printf '[a]\nhost = old:80\n[b]\nhost = old:81\n' >/etc/e2e-edit; chmod 640 /etc/e2e-edit; chown deploy: /etc/e2e-edit`,
			site: `    - replace:
        - /etc/e2e-edit: {regexp: '\bold(:\d+)', replace: 'new\1'}
        - the port of b: {path: /etc/e2e-edit, after: '\[b\]', regexp: ':81$', replace: ':8081'}
`,
			state: `cat /etc/e2e-edit; stat -c '%U %G %a' /etc/e2e-edit`,
			want:  "[a]\nhost = new:80\n[b]\nhost = new:8081\ndeploy deploy 640\n",
			drift: `sed -i 's/^host = new:80$/host = old:80/' /etc/e2e-edit`,
		},
		"ini": {
			prepare: `printf '; ours\n[a]\n;x = 1\ny = 2\n\n[b]\nz = 1\nz = 2\n' >/etc/e2e-edit; chown root: /etc/e2e-edit; chmod 600 /etc/e2e-edit; rm -f /etc/e2e-new`,
			site: `    - ini:
        - x: {path: /etc/e2e-edit, section: a, option: x, value: "3"}
        - z: {path: /etc/e2e-edit, section: b, option: z, values: ["2", "3"]}
        - y: {path: /etc/e2e-edit, section: a, option: y, ensure: absent}
        - /etc/e2e-new: {section: Service, option: Restart, value: always, separator: "=", create: true, owner: root, group: root, mode: "0644"}
`,
			state: `cat /etc/e2e-edit /etc/e2e-new; stat -c '%U %G %a' /etc/e2e-edit /etc/e2e-new; :`,
			want:  "; ours\n[a]\n;x = 1\nx = 3\n\n[b]\nz = 2\nz = 3\n[Service]\nRestart=always\nroot root 600\nroot root 644\n",
			drift: `sed -i 's/^x = 3$/x = 4/' /etc/e2e-edit; sed -i 's/^.a.$/&\ny = 5/' /etc/e2e-edit; sed -i 's/^.Service.$/&\nRestart=no/' /etc/e2e-new`,
		},
		"authorized_key": {
			prepare: `userdel -r e2ek 2>/dev/null; useradd -m e2ek; printf '# ours\nssh-rsa AAAA broken\n' >/etc/e2e-keys`,
			site: `    - authorized_key:
        - ann: {user: e2ek, key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33, options: ['from="192.0.2.0/24"']}
        - bob: {user: e2ek, path: /etc/e2e-keys, key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID+JNgUlwDt6LMhlzyNP7n/0ZU/9ui1Y7BY2k7v9s9JR, exclusive: true}
`,
			state: `for f in $(find /home/e2ek/.ssh /etc/e2e-keys -type f 2>/dev/null | sort); do cat $f; stat -c '%U %G %a' $f; done`,
			want: "# ours\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID+JNgUlwDt6LMhlzyNP7n/0ZU/9ui1Y7BY2k7v9s9JR bob\nroot root 644\n" +
				"from=\"192.0.2.0/24\" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33 ann\ne2ek e2ek 600\n",
			drift: `sed -i 's/^from="[^"]*" //' /home/e2ek/.ssh/authorized_keys; echo "ssh-ed25519 AAAA theirs" >>/etc/e2e-keys`,
		},
		"known_host": {
			prepare: `printf '# ours\nother,git.example.net ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33\n' >/etc/e2e-hosts; ssh-keygen -q -H -f /etc/e2e-hosts 2>/dev/null; rm -f /etc/e2e-hosts.old /etc/e2e-new`,
			site: `    - known_host:
        - git.example.net: {path: /etc/e2e-hosts, keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMfpQb4L8YB70ZH90xHu4goo3u+EhiCsuSuGqVGvaqFq"]}
        - "[git.example.net]:2222": {path: /etc/e2e-new, keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33"]}
`,
			state: `for h in git.example.net other; do ssh-keygen -F $h -f /etc/e2e-hosts | sed "s/^[^#][^ ]*/$h/"; done; cat /etc/e2e-new; :`,
			want: "# Host git.example.net found: line 3 \ngit.example.net ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMfpQb4L8YB70ZH90xHu4goo3u+EhiCsuSuGqVGvaqFq\n# Host other found: line 2 \nother ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33\n" +
				"[git.example.net]:2222 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAED7nlnqWY7VFewQlPSkKNqF2RB0Z+15k3zEaojud33\n",
			drift: `ssh-keygen -q -R git.example.net -f /etc/e2e-hosts 2>/dev/null; rm -f /etc/e2e-hosts.old`, // the name is hashed
		},
		"sysctl": {
			prepare: `mkdir -p /etc/sysctl.d; rm -f /etc/sysctl.d/90-ccm-push.conf; echo 0 >/proc/sys/net/ipv4/ip_forward
printf '# ours\nnet.ipv4.ip_local_port_range = 32768 60999\n' >/etc/e2e-sysctl; printf '32768\t60999' >/proc/sys/net/ipv4/ip_local_port_range`,
			site: `    - sysctl:
        - net.ipv4.ip_forward: {value: 1}
        - net.ipv4.ip_local_port_range: {value: 1024 65000, path: /etc/e2e-sysctl}
`,
			state: `cat /etc/sysctl.d/90-ccm-push.conf /etc/e2e-sysctl 2>/dev/null; cd /proc/sys/net/ipv4; cat ip_forward ip_local_port_range`,
			want:  "net.ipv4.ip_forward = 1\n# ours\nnet.ipv4.ip_local_port_range = 1024 65000\n1\n1024\t65000\n",
			drift: `echo 0 >/proc/sys/net/ipv4/ip_forward; sed -i 's/65000/60000/' /etc/e2e-sysctl`,
		},
		"mount": {
			prepare: `umount /mnt/e2e-* 2>/dev/null; rm -rf /mnt/e2e-*; printf '# ours\nproc /proc proc defaults 0 0\ntmpfs /mnt/e2e-line tmpfs ro 0 0\n' >/etc/fstab`,
			site: `    - mount:
        - /mnt/e2e-new: {device: tmpfs, fstype: tmpfs, options: [size=1m, nofail, ro]}
        - /mnt/e2e-line: {ensure: present, device: tmpfs, fstype: tmpfs}
`,
			state: `awk '$2 ~ "/mnt/e2e" {print $1, $2, $3, substr($4, 1, 2)}' /proc/mounts | sort | sed 's,.* /mnt/e2e-bind .*,SRV,' ; cat /etc/fstab`,
			want: "tmpfs /mnt/e2e-new tmpfs ro\n# ours\nproc /proc proc defaults 0 0\ntmpfs /mnt/e2e-line tmpfs defaults 0 0\n" +
				"tmpfs /mnt/e2e-new tmpfs size=1m,nofail,ro 0 0\n",
			drift: `mount -o remount,rw /mnt/e2e-new; sed -i 's/,ro 0/,rw 0/' /etc/fstab`,
		},
		"unmount": {
			prepare: `umount /mnt/e2e-* 2>/dev/null; rm -rf /mnt/e2e-*; mkdir -p /mnt/e2e-gone /mnt/e2e-off /mnt/e2e-bind /srv
printf '# ours\ntmpfs /mnt/e2e-gone tmpfs nosuid 0 0\ntmpfs /mnt/e2e-off tmpfs ro 0 0\nproc /proc proc defaults 0 0\n' >/etc/fstab
mount -t tmpfs -o nosuid tmpfs /mnt/e2e-gone; mount -t tmpfs -o ro tmpfs /mnt/e2e-off`,
			site: `    - mount:
        - /mnt/e2e-gone: {ensure: absent}
        - /mnt/e2e-off: {ensure: unmounted}
        - /mnt/e2e-bind: {device: /srv, fstype: none, options: [bind]}
`,
			state: `awk '$2 ~ "/mnt/e2e" {print $1, $2, $3, substr($4, 1, 2)}' /proc/mounts | sort | sed 's,.* /mnt/e2e-bind .*,SRV,' ; cat /etc/fstab`,
			want:  "SRV\n# ours\ntmpfs /mnt/e2e-off tmpfs ro 0 0\nproc /proc proc defaults 0 0\n/srv /mnt/e2e-bind none bind 0 0\n",
			drift: `mount -t tmpfs tmpfs /mnt/e2e-off; umount /mnt/e2e-bind; echo 'tmpfs /mnt/e2e-gone tmpfs defaults 0 0' >>/etc/fstab`,
			maybe: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			trip.host = "h001"
			trip.on(t, f, "-i", "deploy.yaml", "-b")
		})
	}
}

// TestFleetReverseNeedsTheFullProgram removes a resource of a type that the lean host program does not know: its change
// is undone all the same, although nothing else of the play needs the full one.
func TestFleetReverseNeedsTheFullProgram(t *testing.T) {
	f := startFleet(t)
	f.sh("h001", `printf '[a]\nx = 1\n' >/etc/e2e-edit`)
	run := func(resources string, flags ...string) run {
		write(t, f.path("left.yaml"), "name: left\nremembered_as: e2e/full\nhosts: h001\nccm:\n  resources:\n    - exec: [\"true\": {}]\n"+resources)
		r := f.push(append(append([]string{"-i", "root.yaml"}, flags...), "left.yaml")...)
		r.requireCode(t, 0)
		return r
	}
	run("    - ini: [/etc/e2e-edit: {section: a, option: x, value: 2, reverse: true}]\n")
	require.Equal(t, "[a]\nx = 2\n", f.sh("h001", "cat /etc/e2e-edit"))
	require.Contains(t, run("", "--check").stdout, "would have put the earlier text back: text x = 2 -> x = 1; it has left the manifest")
	run("")
	require.Equal(t, "[a]\nx = 1\n", f.sh("h001", "cat /etc/e2e-edit"))
	require.Contains(t, run("").stdout, "1 changed, 0 stable", "it is put back once")
}
