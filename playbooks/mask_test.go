package playbooks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/transport"
)

// TestPasswordsAreMasked removes passwords of the operator and the inventory from texts, except names of users.
func TestPasswordsAreMasked(t *testing.T) {
	inv, err := inventory.Parse("hosts.yaml", []byte(`
all:
  vars: {ansible_password: swordfish}
  hosts:
    a: {connect: {user: vagrant}}
    b: {ansible_password: vagrant, ansible_become: true, ansible_become_user: deploy, ansible_become_password: hunter22}
`))
	require.NoError(t, err)
	r := &Runner{
		Inventory: inv,
		Connect:   reach.Options{Password: transport.NewSecret([]byte("correct horse")), BecomePassword: transport.NewSecret([]byte("operator"))},
		Plays:     []*manifest.Play{{BecomeUser: "operator"}},
	}
	var mask secret.Mask
	r.maskPasswords(&mask)
	require.Equal(t, "[secret] [secret] [secret] vagrant operator deploy", mask.Text("swordfish hunter22 correct horse vagrant operator deploy"))
}

// TestSecretsOfTheInventoryAreKnown has what a play and its rollout are compiled with know that there are some.
func TestSecretsOfTheInventoryAreKnown(t *testing.T) {
	for text, some := range map[string]bool{"{a: {token: plain}}": false, "{a: {token: !vault hidden}}": true} {
		inv, err := inventory.Parse("hosts.yaml", []byte("all: {hosts: "+text+"}"))
		require.NoError(t, err)
		require.Equal(t, some, (&Runner{Inventory: inv}).compiling(nil).InventorySecrets, text)
	}
}
