package user

import (
	"fmt"
	"os/exec"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
	"github.com/ccm-push/ccm-push/modules/accounts/accountstest"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestBusy uses a user with running processes: the check refuses the changes that the tools would refuse.
func TestBusy(t *testing.T) { accountstest.Private(t, busy) }

func busy(t *testing.T) {
	sleep := exec.CommandContext(t.Context(), "sleep", "600")
	sleep.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1500, Gid: 1500}}
	require.NoError(t, sleep.Start())
	t.Cleanup(func() { sleep.Process.Kill(); sleep.Wait() })

	h := modtest.Host()
	for _, argv := range [][]string{{"userdel", "bob"}, {"usermod", "-u", "1501", "bob"}, {"usermod", "-d", "/home/b", "bob"}} {
		err := accounts.Run(t.Context(), h, modules.Command{Argv: argv})
		require.ErrorContains(t, err, fmt.Sprintf("user bob is currently used by process %d", sleep.Process.Pid))
	}
	number := regexp.MustCompile(`process \d+`)
	for properties, want := range map[string]string{
		`{"name":"bob","ensure":"absent"}`:  `user "bob" is logged in or has running processes, such as process N; end its processes first`,
		`{"name":"bob","uid":1501}`:         `uid: user "bob" is logged in or has running processes, such as process N; end its processes first`,
		`{"name":"bob","home":"/home/b"}`:   `home: user "bob" is logged in or has running processes, such as process N; end its processes first`,
		`{"name":"bob","comment":"Robert"}`: "",
	} {
		_, err := apply(t, properties)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.Error(t, err)
		require.Equal(t, want, number.ReplaceAllString(err.Error(), "process N"))
	}
}
