package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push-broker/broker"
	"github.com/ccm-push/ccm-push/playbooks/natsconn"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
)

// servedBroker starts a broker, and writes the seed of its user ops.
func servedBroker(t *testing.T) (dir, address, seed string) {
	dir, seed = filepath.Join(t.TempDir(), "broker"), filepath.Join(t.TempDir(), "ops.nk")
	listening := make(chan string, 1)
	b := &broker.Broker{Dir: dir, Listen: "127.0.0.1:0", Say: func(string) {}, Listening: func(a string) { listening <- a }}
	require.NoError(t, b.AddUser("ops", broker.Coordinator, seed))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	select {
	case address = <-listening:
	case err := <-ended:
		ended <- err
		t.Fatal("the broker has ended")
	}
	return dir, address, seed
}

// onTerminal starts a command on a terminal, with a folder of its own.
func onTerminal(t *testing.T, script string) *watched {
	a := &alone{t: t, dir: t.TempDir()}
	a.cmd = exec.Command("/bin/sh", "-c", script)
	a.cmd.Dir = a.dir
	a.cmd.Env = append(os.Environ(), "TERM=xterm", "CI=", "HOME="+a.dir, "XDG_CONFIG_HOME=", "NATS_CA=", "NATS_NKEY=", "CCM_PUSH_WORKERS=")
	w := &watched{alone: a}
	var err error
	w.terminal, err = pty.StartWithSize(w.cmd, &pty.Winsize{Rows: 24, Cols: 200})
	require.NoError(t, err)
	w.follow()
	return w
}

// TestWorkersInvite makes a machine a worker on two terminals, with equal and with different fingerprints.
func TestWorkersInvite(t *testing.T) {
	dir, address, seed := servedBroker(t)
	for _, answer := range []string{"y", "n"} {
		controller := onTerminal(t, "exec ccm-push workers invite paris --token-file token --workers tls://"+address+" --nats-nkey "+seed+" --nats-ca "+filepath.Join(dir, "ca.pem"))
		controller.shows("the token is secret, for one machine, and valid until ")
		token := filepath.Join(controller.dir, "token")
		machine := onTerminal(t, "exec ccm-push worker join --worker-address 192.0.2.5 --name paris-"+answer+" --token-file "+token)
		var prints []string
		for _, w := range []*watched{controller, machine} {
			w.shows("show the same fingerprint? [y/N] ")
			prints = append(prints, regexp.MustCompile(`([A-Z2-7]{4}-){3}[A-Z2-7]{4}`).FindString(w.text()))
		}
		require.NotEmpty(t, prints[0])
		require.Equal(t, prints[0], prints[1])
		for w, text := range map[*watched]string{controller: answer, machine: "y"} {
			_, err := w.terminal.WriteString(text + "\n")
			require.NoError(t, err)
		}
		said, status := controller.end()
		there, joined := machine.end()
		require.NoFileExists(t, token, "the next invitation writes it again")
		file := func(w *watched, name string) string {
			text, err := os.ReadFile(filepath.Join(w.dir, ".config", "ccm-push", name))
			if os.IsNotExist(err) {
				return ""
			}
			require.NoError(t, err)
			return string(text)
		}
		users, err := (&broker.Broker{Dir: dir}).Users()
		require.NoError(t, err)
		role := broker.Role("")
		for _, u := range users {
			if u.Name == "paris-"+answer {
				role = u.Role
			}
		}
		if answer == "n" {
			require.Equal(t, []int{1, 1}, []int{status, joined}, said+there)
			require.Contains(t, there, "this machine was not admitted: ")
			require.Empty(t, role)
			require.Empty(t, file(controller, "workers.keys"))
			require.Empty(t, file(machine, "coordinators.keys")+file(machine, "worker.nk"))
			continue
		}
		require.Equal(t, []int{0, 0}, []int{status, joined}, said+there)
		link := natsconn.New(natsconn.Config{Servers: "tls://" + address, NKey: filepath.Join(machine.dir, ".config/ccm-push/worker.nk"), CA: filepath.Join(dir, "ca.pem")})
		_, err = link.Conn(t.Context())
		link.Close()
		require.NoError(t, err, "the worker may be started at once")
		require.Equal(t, broker.Worker, role)
		require.Contains(t, there, "ccm-push worker --workers tls://"+address+" --nats-nkey "+filepath.Join(machine.dir, ".config/ccm-push/worker.nk"))
		require.Contains(t, there, `--site "paris" --worker-address 192.0.2.5/32`)
		key, err := keyring.ReadKey(filepath.Join(machine.dir, ".config", "ccm-push", "worker.key"))
		require.NoError(t, err)
		require.Equal(t, `site="paris",from="192.0.2.5" `+key.Public()+" paris-y\n", file(controller, "workers.keys"))
		key, err = keyring.ReadKey(filepath.Join(controller.dir, ".config", "ccm-push", "coordinator.key"))
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(file(machine, "coordinators.keys"), key.Public()+" "))
		ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
		require.NoError(t, err)
		require.Equal(t, string(ca), file(machine, "worker.pem"))
		info, err := os.Stat(filepath.Join(machine.dir, ".config", "ccm-push", "worker.nk"))
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm())
	}
}
