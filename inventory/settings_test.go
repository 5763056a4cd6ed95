package inventory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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

// TestSettingsAreTheConnection holds the winners against what Connection says.
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
