package user

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts/accountstest"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// newHash is one of the password "other".
const newHash = `$6$pepper$qb228YLrOXmyCkbHqrQR3pXtraIS6qHgix02JecMo9ygf3c3fc4cTEEY6y/KcTwCr.pEJZo.O6VbPAuAvQRYt1`

// recorder records the parts of commands that others on the host can see.
type recorder struct {
	modules.Commands
	seen []string
}

func (r *recorder) Run(ctx context.Context, c modules.Command) (modules.Exit, error) {
	r.seen = append(append(r.seen, c.Argv...), c.Env...)
	return r.Commands.Run(ctx, c)
}

// hashOf is a user's field of shadow(5).
func hashOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("/etc/shadow")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(line, ":"); f[0] == name {
			return f[1]
		}
	}
	return ""
}

// TestPasswords changes fields of shadow(5), and searches for hashes in public places.
func TestPasswords(t *testing.T) { accountstest.Private(t, passwords) }

func passwords(t *testing.T) {
	t.Run("shadow-utils", changedPasswords)
	t.Run("BusyBox", func(t *testing.T) {
		accountstest.Busybox(t)
		changedPasswords(t)
	})
}

func changedPasswords(t *testing.T) {
	for _, test := range []struct {
		name, have, properties, want string
		changes                      []modules.Change
	}{
		{"another one", accountstest.Hash, `"password_hash":"$new"`, newHash, changes("password_hash", "[hash]", "[hash]")},
		{"a lock is kept", "!" + accountstest.Hash, `"password_hash":"$new"`, "!" + newHash, changes("password_hash", "[hash]", "[hash]")},
		{"a locked one is the same", "!" + newHash, `"password_hash":"$new"`, "!" + newHash, nil},
		{"unlocked with another one", "!" + accountstest.Hash, `"password_hash":"$new","password_lock":false`, newHash, changes("password_hash", "[hash]", "[hash]", "password_lock", "true", "false")},
		{"a lock without a password is none", "!", `"password_hash":"$new"`, newHash, changes("password_hash", "!", "[hash]")},
		{"nor is that of Red Hat", "!!", `"password_hash":"$new"`, newHash, changes("password_hash", "!!", "[hash]")},
		{"locked on purpose", accountstest.Hash, `"password_hash":"!$new"`, "!" + newHash, changes("password_hash", "[hash]", "[hash]")},
		{"from none at all", "", `"password_hash":"$new"`, newHash, changes("password_hash", "none", "[hash]")},
		{"unlocked", "!" + newHash, `"password_lock":false`, newHash, changes("password_lock", "true", "false")},
		{"unlocked twice", "!!" + newHash, `"password_lock":false`, newHash, changes("password_lock", "true", "false")},
		{"locked", newHash, `"password_lock":true`, "!" + newHash, changes("password_lock", "false", "true")},
	} {
		t.Run(test.name, func(t *testing.T) {
			accountstest.Reset(t)
			setHash(t, test.have)
			res := modtest.Decode(t, modules.Registry{Type()}, "user", `{"name":"bob",`+strings.ReplaceAll(test.properties, "$new", newHash)+`}`, "")
			h := modtest.Host()
			seen := &recorder{Commands: h.Commands}
			h.Commands = seen
			plan, err := res.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			require.Equal(t, test.changes, plan.Changes)
			if !plan.Pending() {
				return
			}
			require.NoError(t, res.Apply(t.Context(), h, plan))
			require.Equal(t, test.want, hashOf(t, "bob"))
			left, err := res.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			require.Equal(t, modules.Plan{}, left)
			text, err := json.Marshal(plan.Changes)
			require.NoError(t, err)
			for _, secret := range []string{accountstest.Hash, newHash} {
				require.NotContains(t, strings.Join(seen.seen, " ")+plan.Action+string(text), secret)
			}
		})
	}
}

func setHash(t *testing.T, field string) {
	t.Helper()
	text, err := os.ReadFile("/etc/shadow")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("/etc/shadow", []byte(strings.ReplaceAll(string(text), accountstest.Hash, field)), 0o600))
}

// TestErrorsWithhold uses a chpasswd that prints its input.
func TestErrorsWithhold(t *testing.T) { accountstest.Private(t, errorsWithhold) }

func errorsWithhold(t *testing.T) {
	dir := t.TempDir()
	program := dir + "/chpasswd"
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"chpasswd: bad line: $(cat)\" >&2\nexit 1\n"), 0o755))
	d := &draft{User: &User{Name: "bob"}}
	d.setHash(newHash)
	h := modtest.Host()
	h.Commands = elsewhere{h.Commands, dir + ":" + modules.DefaultPath}
	err := d.steps[0](t.Context(), h)
	require.EqualError(t, err, "chpasswd ended with exit code 1: bad line: bob:[hash]")
}

// elsewhere looks for programs in other directories.
type elsewhere struct {
	modules.Commands
	path string
}

func (e elsewhere) Run(ctx context.Context, c modules.Command) (modules.Exit, error) {
	c.Path = e.path
	return e.Commands.Run(ctx, c)
}
