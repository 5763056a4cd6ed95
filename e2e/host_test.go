//go:build e2e

package e2e

import "testing"

// hostTrips change settings of a whole host, and undo them.
var hostTrips = map[string]roundTrip{
	"hostname": {
		prepare: `hostname before; printf '# ours\nboots\n' >/etc/hostname; printf 'CHASSIS=vm\n' >/etc/machine-info`,
		site: `    - hostname: [this: {static: e2e.example.net, pretty: 'End "to" end'}]
`,
		state: `uname -n; cat /etc/hostname /etc/machine-info`,
		want:  "e2e.example.net\n# ours\ne2e.example.net\nCHASSIS=vm\nPRETTY_HOSTNAME=\"End \\\"to\\\" end\"\n",
		drift: `hostname other; sed -i s/End/END/ /etc/machine-info`,
	},
	"kmod": {
		prepare: `mkdir -p /etc/modprobe.d /etc/modules-load.d; printf '# ours\nblacklist pcspkr\n' >/etc/modprobe.d/ccm-push.conf; rm -f /etc/modules-load.d/ccm-push.conf`,
		site: `    - kmod:
        - loop: {parameters: [max_loop=16, max_part=4]}
        - floppy: {ensure: absent, blacklist: true}
        - pcspkr: {ensure: absent}
`,
		state: `cd /etc; cat modprobe.d/ccm-push.conf modules-load.d/ccm-push.conf; :`,
		want:  "# ours\noptions loop max_loop=16 max_part=4\nblacklist floppy\nloop\n",
		drift: `sed -i 's/max_loop=16/max_loop=8/; /floppy/d' /etc/modprobe.d/ccm-push.conf`,
	},
	"locale": {
		prepare: `rm -f /etc/default/locale /etc/locale.conf`,
		site: `    - locale: [C.UTF-8: {default: true}]
`,
		state: `cat /etc/default/locale /etc/locale.conf 2>/dev/null; :`,
		want:  "LANG=C.UTF-8\n",
		drift: `sed -i s/LANG=.*/LANG=C/ /etc/default/locale /etc/locale.conf 2>/dev/null; :`,
	},
	// The hosts share the machine's kernel, so swap would be active on the machine. Nothing is activated here; the
	// type's tests use programs of their own.
	"swap": {
		prepare: `printf '# ours\n/opt/e2e-old none swap sw 0 0\n' >/etc/fstab; rm -f /opt/e2e-*; head -c 65536 /dev/zero >/opt/e2e-old; chmod 600 /opt/e2e-old; mkswap /opt/e2e-old >/dev/null`,
		site: `    - swap:
        - /opt/e2e-new: {ensure: present, size: 128K, priority: 3, options: [nofail]}
        - /opt/e2e-old: {ensure: absent}
`,
		state: `cat /etc/fstab; for f in /opt/e2e-*; do [ ! -e $f ] || { stat -c '%n %s %a' $f; blkid -p -o value -s TYPE $f; }; done`,
		want:  "# ours\n/opt/e2e-new none swap sw,pri=3,nofail 0 0\n/opt/e2e-new 131072 600\nswap\n",
		drift: `sed -i s/pri=3/pri=4/ /etc/fstab; chmod 640 /opt/e2e-new`,
	},
	"sudoers": {
		prepare: `rm -f /etc/sudoers.d/e2e-*; echo '# theirs' >/etc/sudoers.d/e2e-old; chmod 440 /etc/sudoers.d/e2e-old`,
		site: `    - sudoers:
        - e2e-app: {rules: ["app ALL=(root) NOPASSWD: /usr/bin/id -u"]}
        - e2e-old: {ensure: absent}
`,
		state: `cd /etc/sudoers.d; for f in e2e-*; do [ ! -e $f ] || { cat $f; stat -c '%U %G %a' $f; }; done; runuser -u app -- sudo -n id -u 2>/dev/null; :`,
		want:  "app ALL=(root) NOPASSWD: /usr/bin/id -u\nroot root 440\n0\n",
		drift: `sed -i 's/NOPASSWD: //' /etc/sudoers.d/e2e-app`,
	},
	"tls": {
		prepare: `rm -f /opt/e2e-*; install -m 640 /dev/null /opt/e2e-old.pem`,
		site: `    - tls_key:
        - /opt/e2e-ca.key: {curve: p384}
        - /opt/e2e-web.key: {group: daemon, mode: "0640"}
    - tls_cert:
        - /opt/e2e-ca.pem: {key: /opt/e2e-ca.key, subject: {CN: e2e}, usage: [ca], days: 3650}
        - /opt/e2e-web.pem: {key: /opt/e2e-web.key, names: [e2e.example.net], ca_cert: /opt/e2e-ca.pem, ca_key: /opt/e2e-ca.key}
        - /opt/e2e-web.csr: {ensure: request, key: /opt/e2e-web.key, names: [e2e.example.net]}
        - /opt/e2e-old.pem: {ensure: absent}
`,
		state: `cd /opt; for f in e2e-*; do [ ! -e $f ] || { stat -c '%n %U %G %a' $f; head -n 1 $f; }; done`,
		want: "e2e-ca.key root root 600\n-----BEGIN PRIVATE KEY-----\ne2e-ca.pem root root 644\n-----BEGIN CERTIFICATE-----\n" +
			"e2e-web.csr root root 644\n-----BEGIN CERTIFICATE REQUEST-----\ne2e-web.key root daemon 640\n-----BEGIN PRIVATE KEY-----\ne2e-web.pem root root 644\n-----BEGIN CERTIFICATE-----\n",
		drift: `cp -p /opt/e2e-ca.pem /opt/e2e-web.pem`,
	},
	"timezone": {
		prepare: `ln -sfn /usr/share/zoneinfo/Etc/UTC /etc/localtime; echo Etc/UTC >/etc/timezone`,
		site: `    - timezone: [America/Argentina/Buenos_Aires: {}]
`,
		state: `date -d @0 +%T%z; readlink /etc/localtime; cat /etc/timezone`,
		want:  "21:00:00-0300\n../usr/share/zoneinfo/America/Argentina/Buenos_Aires\nAmerica/Argentina/Buenos_Aires\n",
		drift: `ln -sfn ../usr/share/zoneinfo/UTC /etc/localtime`,
	},
}

// localeTrip is one of a host with locale-gen.
var localeTrip = roundTrip{
	prepare: `printf '# all\n# de_AT ISO-8859-1\nde_DE.UTF-8 UTF-8\n' >/etc/locale.gen; rm -f /etc/default/locale; localedef --delete-from-archive de_AT de_AT.iso88591 2>/dev/null; :`,
	site: `    - locale: [de_AT: {default: true}]
`,
	state: `cat /etc/locale.gen /etc/default/locale 2>/dev/null; locale -a; LC_ALL=de_AT locale decimal_point 2>/dev/null`,
	want:  "# all\nde_AT ISO-8859-1\nde_DE.UTF-8 UTF-8\nLANG=de_AT\nC\nC.utf8\nPOSIX\nde_AT\nde_AT.iso88591\nde_DE.utf8\n,\n",
	drift: `sed -i s/LANG=.*/LANG=C/ /etc/default/locale; localedef --delete-from-archive de_AT de_AT.iso88591`,
}

// restoreHost restores the name of a host.
func (f *fleet) restoreHost(host string) {
	f.Cleanup(func() {
		f.sh(host, "hostname "+host+"; echo "+host+" >/etc/hostname; rm -f /etc/machine-info; ln -sfn /usr/share/zoneinfo/Etc/UTC /etc/localtime; echo Etc/UTC >/etc/timezone")
	})
}

// TestFleetHost plays the trips as a user who becomes root.
func TestFleetHost(t *testing.T) {
	f := startFleet(t)
	f.restoreHost("h001")
	for name, trip := range hostTrips {
		t.Run(name, func(t *testing.T) {
			trip.host = "h001"
			trip.on(t, f, "-i", "deploy.yaml", "-b")
		})
	}
	t.Run("locale-gen", func(t *testing.T) {
		trip := localeTrip
		trip.host = "h001"
		trip.on(t, f, "-i", "deploy.yaml", "-b")
	})
}

// TestFleetHostRPM plays them on a host that has rpm.
func TestFleetHostRPM(t *testing.T) {
	f := startOther(t, "rpm", "r001")
	f.restoreHost("r001")
	for name, trip := range hostTrips {
		t.Run(name, func(t *testing.T) {
			trip.host = "r001"
			trip.on(t, f, "-i", "root.yaml")
		})
	}
}
