package reach

import (
	"bytes"
	"io"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// texts are the files of a host.
type texts map[string]string

func (t texts) Open(name string) (io.ReadCloser, error) {
	if text, ok := t[name]; ok {
		return io.NopCloser(bytes.NewBufferString(text)), nil
	}
	return nil, fs.ErrNotExist
}

func (t texts) List(dir string) ([]string, error) {
	if dir == "/etc/ssh/sshd_config.d" {
		return []string{"keys.conf"}, nil
	}
	return nil, fs.ErrNotExist
}

type reader struct {
	modules.FileReader
	texts
}

func (r reader) Open(name string) (io.ReadCloser, error) { return r.texts.Open(name) }
func (r reader) List(directory string) ([]string, error) { return r.texts.List(directory) }

func TestWhatTouchesTheWaysToAHost(t *testing.T) {
	ways := New(reader{texts: texts{
		"/etc/passwd":                      "root:x:0:0:root:/root:/bin/sh\ndeploy:x:1000:1001::/srv/deploy:/bin/sh\n",
		"/etc/group":                       "root:x:0:\noperators:x:1005:ann,deploy\ndeploy:x:1001:\nmail:x:8:\n",
		"/etc/ssh/sshd_config":             "# AuthorizedKeysFile none\nauthorizedkeysfile .ssh/authorized_keys /var/keys/%u\n",
		"/etc/ssh/sshd_config.d/keys.conf": "AuthorizedKeysFile=\"%h/keys\"\n",
	}}, "deploy", "root", "")
	const (
		server, accounts, sudo, pam = "the SSH server", "the accounts of the host", "sudo or doas", "PAM"
		names, network, firewall    = "the name service", "interfaces or routes", "the firewall"
		keys                        = "the keys by which one logs in"
	)
	for _, test := range []struct {
		kind modules.EffectKind
		key  string
		want string
	}{
		{"path", "/etc/ssh/sshd_config", server},
		{"path", "/etc/ssh/sshd_config.d/10-port.conf", server},
		{"path", "/etc/ssh", server},
		{"path", "/etc/ssh_known", ""},
		{"path", "/etc/shadow", accounts},
		{"path", "/etc/shadow.backup", ""},
		{"path", "/etc/sudoers.d/deploy", sudo},
		{"path", "/etc/doas.conf", sudo},
		{"path", "/etc/pam.d/sshd", pam},
		{"path", "/etc/security/access.conf", pam},
		{"path", "/etc/resolv.conf", names},
		{"path", "/etc/hosts", names},
		{"path", "/etc/hosts.deny", names},
		{"path", "/etc/hostname", ""},
		{"path", "/etc/netplan/01.yaml", network},
		{"path", "/etc/iproute2/rt_tables", network},
		{"path", "/etc/sysconfig/network-scripts/ifcfg-eth0", network},
		{"path", "/etc/nftables.conf", firewall},
		{"path", "/etc/nftables.d/x", firewall},
		{"path", "/etc/ufw/user.rules", firewall},
		{"path", "/srv/deploy/.ssh/authorized_keys", keys},
		{"path", "/srv/deploy/.ssh", keys},
		{"path", "/srv/deploy/keys", keys},
		{"path", "/srv/deploy", keys},
		{"path", "/srv/deploy/app.conf", ""},
		{"path", "/srv/deployer", ""},
		{"path", "/var/keys/deploy", keys},
		{"path", "/var/keys/ann", ""},
		{"path", "/root/.ssh/authorized_keys", keys},
		{"path", "/root/.bashrc", ""},
		{"path", "/etc/systemd/system/ssh.service", server},
		{"path", "/etc/systemd/system/sshd.service.d/port.conf", server},
		{"path", "/lib/systemd/system/ssh@.service", server},
		{"path", "/etc/systemd/system/app.service", ""},
		{"path", "/etc/init.d/networking", network},
		{"path", "/etc", server},
		{"path", "/", server},
		{"path", "/etc/motd", ""},
		{"below", "/etc", server},
		{"below", "/etc/ssh/keys", server},
		{"below", "/srv/deploy", keys},
		{"below", "/srv/app", ""},
		{"any", "", ""},
		{"user", "deploy", "the account of deploy"},
		{"user", "root", "the account of root"},
		{"user", "app", ""},
		{"group", "wheel", "the group wheel"},
		{"group", "operators", "the group operators"},
		{"group", "deploy", "the group deploy"},
		{"group", "mail", ""},
		{"firewall", "nftables", firewall},
		{"unit", "", ""},
		{"unit", "ssh.service", server},
		{"unit", "ssh.socket", server},
		{"unit", "sshd", server},
		{"unit", "NetworkManager.service", network},
		{"unit", "systemd-resolved.service", names},
		{"unit", "nftables.service", firewall},
		{"unit", "ssh-agent.service", ""},
		{"unit", "nginx.service", ""},
		{"package", "openssh-server", server},
		{"package", "openssh-client", ""},
		{"package", "sudo", sudo},
		{"package", "libpam-ldap:amd64", pam},
		{"package", "ufw", firewall},
		{"package", "nginx", ""},
		{"crontab", "deploy", ""},
	} {
		require.Equal(t, test.want, ways.Touches(modules.Effect{Kind: test.kind, Key: test.key}), "%s %s", test.kind, test.key)
	}
}

// TestWaysWithoutFiles has a host of which nothing can be read.
func TestWaysWithoutFiles(t *testing.T) {
	ways := New(reader{texts: texts{}}, "deploy")
	require.Equal(t, "the keys by which one logs in", ways.Touches(modules.Effect{Kind: modules.PathEffect, Key: "/home/deploy/.ssh/authorized_keys"}))
	require.Equal(t, "", ways.Touches(modules.Effect{Kind: modules.UserEffect, Key: "root"}))
}
