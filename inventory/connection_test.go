package inventory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestConnection(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       Connection // connection of the host h, without Pos
	}{
		{"nothing said", "all: {hosts: {h: }}", Connection{Address: "h"}},
		{"connect", `
all:
  hosts:
    h:
      connect: {address: 192.0.2.1, port: 2222, user: deploy, private_key: ~/.ssh/id, known_hosts: [a, b], jump: "me@gate:22", become: yes, become_user: app, become_method: sudo}
`, Connection{Address: "192.0.2.1", Port: 2222, User: "deploy", PrivateKeys: []string{"~/.ssh/id"}, KnownHosts: []string{"a", "b"},
			Jump: []JumpHost{{User: "me", Host: "gate", Port: 22}}, Become: true, BecomeUser: "app", BecomeMethod: "sudo"}},
		{"Ansible's variables", `
all:
  hosts:
    h:
      ansible_host: "2001:db8::1"
      ansible_port: "2222"
      ansible_user: deploy
      ansible_ssh_private_key_file: ~/.ssh/id
      ansible_connection: ssh
      ansible_become: "yes"
      ansible_become_user: app
      ansible_become_method: sudo
      ansible_host_key_checking: true
      ansible_timeout: 7
`, Connection{Address: "2001:db8::1", Port: 2222, User: "deploy", PrivateKeys: []string{"~/.ssh/id"},
			Become: true, BecomeUser: "app", BecomeMethod: "sudo", HostKeyChecking: "yes", ConnectTimeout: 7 * time.Second}},
		{"arguments of ssh", `
all:
  hosts:
    h:
      ansible_ssh_common_args: -o ControlMaster=auto -o ControlPersist=60s -o UserKnownHostsFile="a b" -oStrictHostKeyChecking=accept-new -o 'Port 2222' -J gate -o connecttimeout=5
      ansible_ssh_extra_args: -l deploy -i k1 -o IdentityFile=k2 -o User=late
`, Connection{Address: "h", Port: 2222, User: "deploy", PrivateKeys: []string{"k1", "k2"}, KnownHosts: []string{"a", "b"},
			HostKeyChecking: "accept-new", Jump: []JumpHost{{Host: "gate"}}, ConnectTimeout: 5 * time.Second}},
		{"variables win over arguments", "all: {hosts: {h: {ansible_port: 1, ansible_ssh_common_args: -p 2}}}", Connection{Address: "h", Port: 1}},
		{"connect wins within a layer", "all: {hosts: {h: {connect: {port: 1}, ansible_port: 2}}}", Connection{Address: "h", Port: 1}},
		{"a higher layer wins", `
web: {connect: {port: 1, user: web}, hosts: {h: {ansible_port: 2}}}
all: {vars: {ansible_user: all}, connect: {become: true}}
`, Connection{Address: "h", Port: 2, User: "web", Become: true}},
		{"false wins over true", "all: {connect: {become: true}, hosts: {h: {ansible_become: off}}}", Connection{Address: "h"}},
		{"arguments are replaced whole", `
all: {vars: {ansible_ssh_common_args: -J gate -p 1}}
web: {vars: {ansible_ssh_common_args: -p 2}, hosts: {h: }}
`, Connection{Address: "h", Port: 2}},
		{"null takes away", "all: {vars: {ansible_port: 1}, hosts: {h: {ansible_port: }}}", Connection{Address: "h"}},
		{"none is no jump", "all: {connect: {jump: gate}, hosts: {h: {connect: {jump: none}}}}", Connection{Address: "h"}},
		{"port in the key", "all: {hosts: {\"h:2222\": }}", Connection{Address: "h", Port: 2222}},
		{"a variable wins over the key", "all: {hosts: {\"h:2222\": {ansible_port: 22}}}", Connection{Address: "h", Port: 22}},
		{"passwords", `
all: {vars: {ansible_ssh_pass: 'se${cret', ansible_sudo_pass: 12345}, hosts: {h: }}
`, Connection{Address: "h", Password: "se${cret", BecomePassword: "12345"}},
		{"passwords that mean themselves", "all: {connect: {password: !unsafe '{{a}}'}, hosts: {h: {ansible_become_pass: !unsafe 'x{{', connect: {}}}}", Connection{Address: "h", Password: "{{a}}", BecomePassword: "x{{"}},
		{"passwords below connect", "all: {connect: {password: a, become_password: b}, hosts: {h: {connect: {password: }}}}", Connection{Address: "h", BecomePassword: "b"}},
		{"this machine", "all: {vars: {ansible_connection: local}, hosts: {h: }}", Connection{Address: "h", Local: true}},
		{"this machine, below connect", "all: {connect: {connection: local, become_method: su}, hosts: {h: }}", Connection{Address: "h", Local: true, BecomeMethod: "su"}},
		{"ssh after all", "all: {vars: {ansible_connection: local}, hosts: {h: {ansible_connection: smart}}}", Connection{Address: "h"}},
		{"doas", "all: {hosts: {h: {ansible_become_method: community.general.doas, ansible_connection: paramiko}}}", Connection{Address: "h", BecomeMethod: "doas"}},
		{"options of ssh", `
all:
  vars: {ansible_ssh_common_args: "-C -4 -o ServerAliveInterval=15 -o serveraliveinterval=30 -a -o CertificateFile=a -oCertificateFile=b"}
  hosts:
    h: {ansible_ssh_extra_args: -o ServerAliveInterval=60 -q}
`, Connection{Address: "h", Options: []Option{
			{Name: "Compression", Value: "yes", Pos: "hosts.yml:3:35"}, {Name: "AddressFamily", Value: "inet", Pos: "hosts.yml:3:35"},
			{Name: "CertificateFile", Value: "a", Pos: "hosts.yml:3:35"}, {Name: "CertificateFile", Value: "b", Pos: "hosts.yml:3:35"},
			{Name: "ServerAliveInterval", Value: "60", Pos: "hosts.yml:5:33"}, {Name: "LogLevel", Value: "QUIET", Pos: "hosts.yml:5:33"},
		}}},
		{"old names", "all: {hosts: {h: {ansible_ssh_host: x, ansible_ssh_user: 0x10}}}", Connection{Address: "x", User: "16"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := load(t, tt.text).Host("h").Connection()
			c.Pos = nil
			require.Equal(t, tt.want, c)
		})
	}
}

func TestConnectionPositions(t *testing.T) {
	h := load(t, "all:\n  vars: {ansible_user: me, ansible_ssh_common_args: -J gate -p 1}\n  hosts:\n    h: {connect: {become: false}}\n").Host("h")
	require.Equal(t, map[string]string{
		"user":   "hosts.yml:2:24",
		"jump":   "hosts.yml:2:53",
		"port":   "hosts.yml:2:53",
		"become": "hosts.yml:4:27",
	}, h.Connection().Pos)
}

const forwardHint = "\n  hint: a host could use your keys while it is connected; to connect through a host, use ProxyJump"

const optionsHint = "\n  hint: supported: HostName, Port, User, IdentityFile, UserKnownHostsFile, StrictHostKeyChecking, ProxyJump, ConnectTimeout, " +
	"AddressFamily, BatchMode, CertificateFile, Ciphers, Compression, ConnectionAttempts, GlobalKnownHostsFile, HashKnownHosts, HostKeyAlgorithms, " +
	"HostKeyAlias, IdentitiesOnly, IdentityAgent, KbdInteractiveAuthentication, KexAlgorithms, LogLevel, MACs, NumberOfPasswordPrompts, " +
	"PasswordAuthentication, PreferredAuthentications, PubkeyAcceptedAlgorithms, PubkeyAuthentication, ServerAliveCountMax, ServerAliveInterval"

var connectionErrors = []struct{ name, text, want string }{
	{"unknown key", "all:\n  hosts:\n    web1: {connect: {adress: h}}\n", `hosts.yml:3:22: unknown key "adress" (did you mean "address"?)`},
	{"unlike any key", "all:\n  hosts:\n    web1: {connect: {shell: h}}\n", "hosts.yml:3:22: unknown key \"shell\"\n  hint: known keys: address, port, user, password, private_key, known_hosts, jump, relay, connection, become, become_user, become_method, become_password"},
	{"port 0", "all:\n  hosts:\n    web1: {connect: {port: 0}}\n", `hosts.yml:3:28: "port" must be from 1 to 65535, not 0`},
	{"large port", "all: {connect: {port: 65536}}", `hosts.yml:1:23: "port" must be from 1 to 65535, not 65536`},
	{"huge port", "all: {connect: {port: 99999999999999999999}}", `hosts.yml:1:23: "port" must be from 1 to 65535, not 99999999999999999999`},
	{"port name", "all: {connect: {port: ssh}}", `hosts.yml:1:23: the value "ssh" of "port" is not a number`},
	{"connect as a scalar", "all: {hosts: {h: {connect: x}}}", "hosts.yml:1:28: \"connect\" must be a map, not the text \"x\"\n  hint: write a map, such as key: value"},
	{"list of users", "all: {connect: {user: [a]}}", `hosts.yml:1:23: "user" must be a single value, not a list`},
	{"map of keys", "all: {connect: {private_key: {a: }}}", `hosts.yml:1:30: "private_key" must be a single value, not a map`},
	{"no keys", "all: {connect: {private_key: []}}", "hosts.yml:1:30: \"private_key\" is an empty list\n  hint: remove the key, or list a file"},
	{"empty", "all: {connect: {user: \"\"}}", `hosts.yml:1:23: "user" is empty`},
	{"control character", `all: {connect: {user: "a\e[2J"}}`, `hosts.yml:1:23: "user" has a control character: "a\x1b[2J"`},
	{"option as a user", "all: {connect: {user: -oX}}", `hosts.yml:1:23: the value "-oX" of "user" has a blank, or - in front`},
	{"address with a port", "all: {connect: {address: \"h:22\"}}", "hosts.yml:1:26: the value \"h:22\" of \"address\" is not an address\n  hint: write a host name or an IP address; a port has a key of its own"},
	{"Jinja", "all: {vars: {ansible_host: \"{{ ip }}\"}}", "hosts.yml:1:28: \"ansible_host\" cannot be an expression\n  hint: write the value itself: ccm-push reads connection settings before it evaluates expressions"},
	{"expression", "all: {connect: {user: \"${user}\"}}", "hosts.yml:1:23: \"user\" cannot be an expression\n  hint: write the value itself: ccm-push reads connection settings before it evaluates expressions"},
	{"no verification", "all: {connect: {known_hosts: /dev/null}}", "hosts.yml:1:30: \"known_hosts\" without a file would verify nothing\n  hint: host keys are always verified: remove it and trust the host's key once"},
	{"become_user", "all: {connect: {become_user: a;b}}", "hosts.yml:1:30: the value \"a;b\" of \"become_user\" is not an account name\n  hint: letters, digits and _ . @ + - are allowed"},
	{"become", "all: {connect: {become: maybe}}", `hosts.yml:1:25: "become" must be true or false, not "maybe"`},
	{"become_method", "all: {vars: {ansible_become_method: pbrun}}", "hosts.yml:1:37: \"ansible_become_method\" cannot be \"pbrun\"\n  hint: write sudo, su or doas"},
	{"another connection", "all: {vars: {ansible_connection: winrm}}", "hosts.yml:1:34: \"ansible_connection\" cannot be \"winrm\"\n  hint: supported values: ssh, local"},
	{"another connection below connect", "all: {connect: {connection: docker}}", "hosts.yml:1:29: \"connection\" cannot be \"docker\"\n  hint: supported values: ssh, local"},
	{"password in a list", "all: {hosts: {h: {ansible_password: [hunter2]}}}", `hosts.yml:1:37: "ansible_password" must be a single value`},
	{"password as an expression", "all: {hosts: {h: {ansible_password: \"{{ hunter2 | trim }}\"}}}", "hosts.yml:1:37: \"ansible_password\" cannot be an expression\n  hint: only a single \"{{ name }}\" of another variable of the host works here; for a literal password write !unsafe before it in YAML; for a prompt pass -k or -K; for passwords from a program pass a second -i SCRIPT that prints {\"db\":{\"vars\":{\"ansible_become_password\":\"…\"}}}, for example from ansible-vault view"},
	{"password with text around a reference", "all: {hosts: {h: {ansible_password: \"{{ a }}{{ b }}\", a: x, b: y}}}", "hosts.yml:1:37: \"ansible_password\" cannot be an expression\n  hint: only a single \"{{ name }}\" of another variable of the host works here; for a literal password write !unsafe before it in YAML; for a prompt pass -k or -K; for passwords from a program pass a second -i SCRIPT that prints {\"db\":{\"vars\":{\"ansible_become_password\":\"…\"}}}, for example from ansible-vault view"},
	{"empty password", "all: {hosts: {h: {ansible_become_pass: \"\"}}}", "hosts.yml:1:40: \"ansible_become_pass\" is empty\n  hint: remove it, or write the key without a value to unset an inherited one"},
	{"password that is a number", "all: {connect: {password: 0123}}", "hosts.yml:1:27: \"password\" is not read as text, but as a number or a boolean that is written another way\n  hint: quote it, on a line of an INI inventory twice: '\"…\"'"},
	{"password with a control character", "all: {connect: {become_password: \"hunter2\\n\"}}", `hosts.yml:1:34: "become_password" has a control character`},
	{"password in the vault", "all: {connect: {become_password: !vault x}}", "hosts.yml:1:34: \"become_password\" is encrypted by ansible-vault\n  hint: write the value unencrypted; encrypted values work only in data, overrides, vars_files, files of -e and --hiera, and inventory variables"},
	{"key checking off", "all: {vars: {ansible_host_key_checking: false}}", "hosts.yml:1:41: \"ansible_host_key_checking\" cannot be false\n  hint: host keys are always verified: write accept-new to take the key of a new host, or trust it once"},
	{"timeout", "all: {vars: {ansible_timeout: 0}}", `hosts.yml:1:31: "ansible_timeout" must be a number of seconds from 1 to a day, not "0"`},

	{"StrictHostKeyChecking=no", "all: {vars: {ansible_ssh_common_args: -o StrictHostKeyChecking=no}}", "hosts.yml:1:39: ansible_ssh_common_args: \"StrictHostKeyChecking\" cannot be no\n  hint: host keys are always verified: write accept-new to take the key of a new host, or trust it once"},
	{"StrictHostKeyChecking=maybe", "all: {vars: {ansible_ssh_common_args: -o StrictHostKeyChecking=maybe}}", "hosts.yml:1:39: ansible_ssh_common_args: \"StrictHostKeyChecking\" cannot be \"maybe\"\n  hint: write yes or accept-new"},
	{"ProxyCommand", "all: {vars: {ansible_ssh_common_args: -o ProxyCommand=\"nc %h\"}}", "hosts.yml:1:39: ansible_ssh_common_args: option \"ProxyCommand\" is not supported\n  hint: use ProxyJump; a command is run from your own ssh_config only"},
	{"a jump host as a command", "all: {vars: {ansible_ssh_common_args: -o ProxyCommand=\"ssh -W %h:%p -q me@gate\"}}", "hosts.yml:1:39: ansible_ssh_common_args: option \"ProxyCommand\" is not supported\n  hint: use ProxyJump: -J me@gate"},
	{"other option", "all: {vars: {ansible_ssh_extra_args: -oLocalCommand=id}}", "hosts.yml:1:38: ansible_ssh_extra_args: option \"LocalCommand\" is not supported" + optionsHint},
	{"agent forwarding", "all: {vars: {ansible_ssh_extra_args: -oForwardAgent=yes}}", "hosts.yml:1:38: ansible_ssh_extra_args: option \"ForwardAgent\" is not supported" + forwardHint},
	{"agent forwarding, by flag", "all: {vars: {ansible_ssh_extra_args: -A}}", "hosts.yml:1:38: ansible_ssh_extra_args: option \"ForwardAgent\" is not supported" + forwardHint},
	{"option with an expression", "all: {vars: {ansible_ssh_extra_args: \"-oCiphers=${x}\"}}", "hosts.yml:1:38: \"ansible_ssh_extra_args\" cannot be an expression\n  hint: write the value itself: ccm-push reads connection settings before it evaluates expressions"},
	{"empty option", "all: {vars: {ansible_ssh_extra_args: -oCiphers=}}", `hosts.yml:1:38: ansible_ssh_extra_args: "Ciphers" is empty`},
	{"other flag", "all: {vars: {ansible_ssh_extra_args: -t}}", "hosts.yml:1:38: ansible_ssh_extra_args: \"-t\" is not supported\n  hint: remove this option; supported options: -o, -J, -p, -i, -l, -C, -4, -6 and -q"},
	{"no value", "all: {vars: {ansible_ssh_extra_args: -o}}", "hosts.yml:1:38: ansible_ssh_extra_args: -o needs a value"},
	{"option without a value", "all: {vars: {ansible_ssh_extra_args: -o Port}}", `hosts.yml:1:38: ansible_ssh_extra_args: "Port" is empty`},
	{"no known hosts", "all: {vars: {ansible_ssh_extra_args: -o UserKnownHostsFile=}}", `hosts.yml:1:38: ansible_ssh_extra_args: "UserKnownHostsFile" is empty`},
	{"open quote", "all: {vars: {ansible_ssh_extra_args: \"-o 'Port=1\"}}", "hosts.yml:1:38: ansible_ssh_extra_args: a quote or a backslash is not closed\n  hint: quote as in a shell"},
}

// wrongWith is why an inventory is not read or, if it is, why there are hosts that
// cannot be reached.
func wrongWith(inv *Inventory, err error) error {
	if err != nil {
		return err
	}
	return inv.Refusals().Err()
}

func TestConnectionErrors(t *testing.T) {
	for _, tt := range connectionErrors {
		t.Run(tt.name, func(t *testing.T) {
			require.EqualError(t, wrongWith(Parse("hosts.yml", []byte(tt.text))), tt.want)
		})
	}
}

const badJump = "\n  hint: write [user@]host[:port]; separate several jump hosts with commas, in the order of connection"

var jumpErrors = []struct{ name, text, want string }{
	{"port 0", "all: {connect: {jump: \"gate:0\"}}", `hosts.yml:1:23: jump: "port" must be from 1 to 65535, not 0`},
	{"port 70000", "all: {connect: {jump: \"a,gate:70000\"}}", `hosts.yml:1:23: jump: "port" must be from 1 to 65535, not 70000`},
	{"port name", "all: {connect: {jump: \"gate:ssh\"}}", "hosts.yml:1:23: jump: \"gate:ssh\" is not a host" + badJump},
	{"no host", "all: {connect: {jump: \"a,,b\"}}", "hosts.yml:1:23: jump: \"\" is not a host" + badJump},
	{"no host after the user", "all: {connect: {jump: me@}}", "hosts.yml:1:23: jump: \"\" is not a host" + badJump},
	{"no user", "all: {connect: {jump: \"@gate\"}}", "hosts.yml:1:23: jump: \"@gate\" has no user before @" + badJump},
	{"blank", "all: {connect: {jump: a b}}", "hosts.yml:1:23: jump: \"a b\" is not a host" + badJump},
	{"option", "all: {connect: {jump: -oProxyCommand=x}}", "hosts.yml:1:23: jump: \"-oProxyCommand=x\" is not a host" + badJump},
	{"option as the user", "all: {connect: {jump: -x@gate}}", "hosts.yml:1:23: jump: the value \"-x\" of \"user\" has a blank, or - in front"},
	{"shell", "all: {connect: {jump: a;id}}", "hosts.yml:1:23: jump: \"a;id\" is not a host" + badJump},
	{"ProxyJump", "all: {vars: {ansible_ssh_common_args: -J gate:0}}", `hosts.yml:1:39: ansible_ssh_common_args: ProxyJump: "port" must be from 1 to 65535, not 0`},
	{"a group", "web: {hosts: {w: {connect: {jump: dmz}}}}\ndmz: {hosts: {gate: }}",
		"hosts.yml:1:35: jump: \"dmz\" is a group, not a host\n  hint: write a host of this group in place of the group"},
	{"itself", "all: {hosts: {w: {connect: {jump: w}}}}",
		"hosts.yml:1:35: the jump hosts form a loop: w -> w\n  hint: remove the jump host of one of these hosts: for example, write connect: {jump: none} for the host w"},
	{"itself, from its group", "dmz: {connect: {jump: gate}, hosts: {w1: , w2: , gate: }}",
		"hosts.yml:1:23: the jump hosts form a loop: gate -> gate\n  hint: remove the jump host of one of these hosts: for example, write connect: {jump: none} for the host gate"},
	{"each other", "all:\n  hosts:\n    a: {connect: {jump: b}}\n    b: {connect: {jump: \"me@a:23\"}}\n",
		"hosts.yml:3:25: the jump hosts form a loop: b -> a -> b\n  hint: remove the jump host of one of these hosts: for example, write connect: {jump: none} for the host b"},
	{"a way of its own", "all:\n  hosts:\n    a: {connect: {jump: b}}\n    b: {connect: {jump: \"x,me@c:23\"}}\n    c:\n",
		"hosts.yml:3:25: jump host b has a jump host, too\n  hint: write all jump hosts, in the order of connection: jump: x,me@c:23,b"},
	{"a way of its own, on the way", "all:\n  hosts:\n    a: {connect: {jump: \"c,me@b\"}}\n    b: {connect: {jump: c}}\n    c:\n",
		"hosts.yml:3:25: jump host b has a jump host, too\n  hint: write all jump hosts, in the order of connection: jump: c,me@b"},
	{"a circle further on", "all:\n  hosts:\n    a: {connect: {jump: b}}\n    b: {connect: {jump: c}}\n    c: {connect: {jump: b}}\n",
		"hosts.yml:3:25: the jump hosts form a loop: b -> c -> b\n  hint: remove the jump host of one of these hosts: for example, write connect: {jump: none} for the host b"},
	{"two things", "all:\n  hosts:\n    a: {connect: {jump: b}}\n    b: {connect: {jump: c}}\n    c:\n    d: {connect: {jump: d}}\n",
		"hosts.yml:3:25: jump host b has a jump host, too\n  hint: write all jump hosts, in the order of connection: jump: c,b\n" +
			"hosts.yml:6:25: the jump hosts form a loop: d -> d\n  hint: remove the jump host of one of these hosts: for example, write connect: {jump: none} for the host d"},
}

func TestJumpErrors(t *testing.T) {
	for _, tt := range jumpErrors {
		t.Run(tt.name, func(t *testing.T) {
			require.EqualError(t, wrongWith(Parse("hosts.yml", []byte(tt.text))), tt.want)
		})
	}
}

func TestJumpsThatAreGood(t *testing.T) {
	for name, text := range map[string]string{
		"a name that the inventory does not know": "all: {hosts: {w: {connect: {jump: bastion.example}}}}",
		"all but the jump host":                   "all: {connect: {jump: gate}, hosts: {w: , gate: {connect: {jump: none}}}}",
		"all but the jump host, by null":          "all: {connect: {jump: gate}, hosts: {w: , gate: {connect: {jump: }}}}",
		"a whole way":                             "all: {hosts: {w: {connect: {jump: \"x,y\"}}, x: , y: }}",
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, wrongWith(Parse("hosts.yml", []byte(text))))
		})
	}
}

func TestSettings(t *testing.T) {
	inv := load(t, `
all:
  connect: {port: 1, user: top, password: hidden}
  vars: {ansible_port: 2, ansible_ssh_common_args: -p 3 -J gate -o ServerAliveInterval=5}
web:
  vars: {ansible_port: , ansible_user: admin, ansible_become_password: hidden too}
  hosts:
    h: {connect: {user: deploy}}
`)
	var got strings.Builder
	for _, s := range inv.Host("h").Settings() {
		fmt.Fprintln(&got, s.Key, s.Name, s.Value, s.Secret, s.Pos, s.Layer, s.Source, s.Wins)
	}
	require.Equal(t, `port ansible_ssh_common_args -p 3 -J gate -o ServerAliveInterval=5 false hosts.yml:4:52 group all inventory false
jump ansible_ssh_common_args -p 3 -J gate -o ServerAliveInterval=5 false hosts.yml:4:52 group all inventory true
-o ServerAliveInterval ansible_ssh_common_args -p 3 -J gate -o ServerAliveInterval=5 false hosts.yml:4:52 group all inventory true
port ansible_port 2 false hosts.yml:4:24 group all inventory false
port port 1 false hosts.yml:3:19 group all inventory true
user user top false hosts.yml:3:28 group all inventory false
password password <nil> true hosts.yml:3:43 group all inventory true
port ansible_port <nil> false hosts.yml:6:24 group web inventory false
user ansible_user admin false hosts.yml:6:40 group web inventory false
become_password ansible_become_password <nil> true hosts.yml:6:72 group web inventory true
user user deploy false hosts.yml:8:25 host h inventory true
`, got.String())
}

// TestSettingsAreTheConnection compares the winning settings with the result of Connection.
func TestSettingsAreTheConnection(t *testing.T) {
	inv := load(t, fixture)
	for _, h := range inv.Hosts() {
		pos := map[string]string{}
		for _, s := range h.Settings() {
			if s.Wins {
				pos[s.Key] = s.Pos
			}
		}
		require.Equal(t, h.Connection().Pos, pos, h.Name)
	}
}
