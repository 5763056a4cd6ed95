package usercert

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrincipals(t *testing.T) {
	for _, c := range []struct{ account, site, want string }{
		{"deploy", "paris", "deploy@paris"},
		{"root", "", "root@"},
		{"a@b", "eu-1.x_2", "a@b@eu-1.x_2"},
		{"root", "paris,root", ""},
		{"root", "paris\nroot@berlin", ""},
		{"root", "a@b", ""},
		{"root", "Île", ""},
	} {
		require.Equal(t, c.want, Principal(c.account, c.site), c)
	}
}
