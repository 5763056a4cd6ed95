package reach

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/transport"
)

// unreached has a host for each setting that the command line may override, and hosts that only another inventory can
// repair.
const unreached = `
all:
  hosts:
    box: {ansible_connection: docker}
    here: {ansible_connection: local, ansible_ssh_extra_args: -T, ansible_host: "{{ x }}"}
    root: {ansible_connection: local, ansible_become_user: "{{ x }}"}
    user: {ansible_user: "{{ x }}"}
    password: {ansible_password: "{{ x }}"}
    key: {ansible_ssh_private_key_file: "{{ x }}"}
    known: {connect: {known_hosts: /dev/null}}
    checking: {ansible_host_key_checking: false}
    timeout: {ansible_timeout: soon}
    become: {ansible_become: maybe}
    method: {ansible_become_method: pbrun}
    sudoer: {ansible_become_password: !vault x}
    user-too: {connect: {jump: user}}
    root-too: {connect: {jump: root}}
    known-user: {connect: {jump: "me@user"}}
    password-too: {connect: {jump: password}}
    box-too: {connect: {jump: "x,box"}}
    mended: {ansible_user: "{{ x }}", connect: {user: me}}
`

func TestRefused(t *testing.T) {
	const literal = " cannot be an expression\n  hint: write the value itself: ccm-push reads connection settings before it evaluates expressions"
	secret := transport.NewSecret([]byte("x"))
	all := Options{
		User: "me", PrivateKeys: []string{"k"}, KnownHosts: []string{"k"}, HostKeysGiven: true, Timeout: time.Second,
		Become: true, BecomeUser: "me", BecomeMethod: "sudo", Password: secret, BecomePassword: secret,
	}
	inv := parseInventory(t, unreached)
	password := inv.Host("password").Connection().Refused["password"].Error()
	for _, c := range []struct{ host, want, decided string }{ // decided: with all options
		{"box", "hosts.yaml:4:31: \"ansible_connection\" cannot be \"docker\"\n  hint: supported values: ssh, local", "hosts.yaml:4:31: \"ansible_connection\" cannot be \"docker\"\n  hint: supported values: ssh, local"},
		{"here", "", ""},
		{"root", "hosts.yaml:6:60: \"ansible_become_user\"" + literal, ""},
		{"user", "hosts.yaml:7:26: \"ansible_user\"" + literal, ""},
		{"password", password, ""},
		{"key", "hosts.yaml:9:41: \"ansible_ssh_private_key_file\"" + literal, ""},
		{"known", "hosts.yaml:10:36: \"known_hosts\" without a file would verify nothing\n  hint: host keys are always verified: remove it and trust the host's key once", ""},
		{"checking", "hosts.yaml:11:43: \"ansible_host_key_checking\" cannot be false\n  hint: host keys are always verified: write accept-new to take the key of a new host, or trust it once", ""},
		{"timeout", "hosts.yaml:12:32: \"ansible_timeout\" must be a number of seconds from 1 to a day, not \"soon\"", ""},
		{"become", "hosts.yaml:13:30: \"ansible_become\" must be true or false, not \"maybe\"", ""},
		{"method", "hosts.yaml:14:37: \"ansible_become_method\" cannot be \"pbrun\"\n  hint: write sudo, su or doas", ""},
		{"user-too", "hosts.yaml:7:26: jump host user: \"ansible_user\"" + literal, ""},
		{"root-too", "", ""},
		{"known-user", "", ""},
		{"password-too", "hosts.yaml:8:34: jump host password: " + password[len("hosts.yaml:8:34: "):], "hosts.yaml:8:34: jump host password: " + password[len("hosts.yaml:8:34: "):]},
		{"box-too", "hosts.yaml:4:31: jump host box: \"ansible_connection\" cannot be \"docker\"\n  hint: supported values: ssh, local", "hosts.yaml:4:31: jump host box: \"ansible_connection\" cannot be \"docker\"\n  hint: supported values: ssh, local"},
		{"mended", "", ""},
	} {
		t.Run(c.host, func(t *testing.T) {
			requireRefused(t, Options{LocalUser: "me"}, inv, c.host, c.want)
			requireRefused(t, all, inv, c.host, c.decided)
		})
	}
	requireRefused(t, all, inv, "sudoer", "")
	require.ErrorContains(t, Options{}.Refused(inv, inv.Host("sudoer"), inv.Host("sudoer").Connection()).Err(), "hosts.yaml:15:39: \"ansible_become_password\" is encrypted by ansible-vault\n  hint: write the value unencrypted; encrypted values work only in ")
}

// requireRefused compares the refusal of a host with want; "" means none.
func requireRefused(t *testing.T, o Options, inv *inventory.Inventory, host, want string) {
	t.Helper()
	_, err := targetOf(o, inv, host)
	reached, explainErr := o.Explain(inv, inv.Host(host))
	require.NoError(t, explainErr)
	if want == "" {
		require.NoError(t, err)
		require.Empty(t, reached.Refused)
		return
	}
	require.EqualError(t, err, want)
	require.EqualError(t, reached.Refused, want)
	require.Empty(t, reached.Settings)
}
