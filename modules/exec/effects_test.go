package exec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadPaths(t *testing.T) {
	for _, c := range []struct {
		argv, want []string
	}{
		{[]string{"grep", "-qx", "1.4.0/2", "/var/lib/app/schema"}, []string{"/var/lib/app/schema"}},
		{[]string{"/usr/bin/test", "!", "-e", "/srv/a", "-a", "-d", "/srv//b/"}, []string{"/srv/a", "/srv/b"}},
		{[]string{"[", "-f", "/srv/a", "]"}, []string{"/srv/a"}},
		{[]string{"cmp", "/srv/a", "/srv/b"}, []string{"/srv/a", "/srv/b"}},
		{[]string{"grep", "x"}, nil},
		{[]string{"grep", "-e", "x", "/srv/a"}, nil},
		{[]string{"grep", "--file=/srv/p", "/srv/a"}, nil},
		{[]string{"test", "-f", "schema"}, nil},
		{[]string{"test", "a", "=", "b"}, nil},
		{[]string{"psql", "-f", "/srv/a"}, nil},
		{nil, nil},
	} {
		require.Equal(t, c.want, readPaths(c.argv), "%q", c.argv)
	}
}
