package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/links"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/workers"
)

// The files that a worker logs in to the broker with, in the folder of the configuration.
const (
	workerSeed = "worker.nk"
	workerCA   = "worker.pem"
)

func workerJoinCommand(f *fleet.Fleet, p *output.Printer) *cobra.Command {
	var in, name string
	var addresses []string
	c := &cobra.Command{
		Use:   "join",
		Short: "make this machine a worker; needs a token, which ccm-push workers invite prints",
		Long: `ccm-push worker join makes this machine a worker, with a token that ccm-push workers invite printed
on another machine. It reads the token from the terminal or a file, creates the keys of this
machine, and sends the public keys to the inviting machine. Then both machines print a fingerprint.
If the fingerprints are equal, answer y on both.

After that, the folder ~/.config/ccm-push contains the files worker.key, worker.nk and worker.pem.
The file coordinators.keys in this folder contains the key of the inviting machine. The last line of
the output is the command that starts the worker.`,
		Example: `  ccm-push worker join
  ccm-push worker join --token-file token --name paris1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := prefixes(addresses)
			if err != nil {
				return err
			}
			return join(cmd.Context(), f.App, p, in, name, from)
		},
	}
	c.Flags().StringVar(&in, "token-file", "", "read the token from a `file` instead of the terminal")
	c.Flags().StringVar(&name, "name", "", "the `name` of this worker in lists and messages (default the name of the machine)")
	c.Flags().StringSliceVar(&addresses, "worker-address", nil, "`address` or network (CIDR) from which this machine connects to hosts; hosts accept the worker only from this address; may be repeated, or contain several addresses with commas")
	return c
}

func join(ctx context.Context, a *app.App, p *output.Printer, in, name string, from []netip.Prefix) error {
	if !a.CanAsk() {
		return errors.New("join compares fingerprints on the terminal, and standard input is not a terminal")
	}
	seedFile, caFile := a.Configuration(workerSeed), a.Configuration(workerCA)
	if _, err := os.Stat(seedFile); err == nil {
		return fmt.Errorf("%s is there: this machine has joined before\n  hint: to join again, move it away: mv %[1]s %[1]s.old", seedFile)
	}
	token, err := readToken(ctx, a, in)
	if err != nil {
		return err
	}
	invitation, err := workers.ParseToken(token)
	if err != nil {
		return err
	}
	if name == "" {
		if name, err = os.Hostname(); err != nil {
			return err
		}
	}
	key, err := ownKey(a.Configuration(links.WorkerKey), name)
	if err != nil {
		return err
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey([]byte(key.Public()))
	if err != nil {
		return err
	}
	user, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	candidate := &workers.Candidate{Name: name, Key: public.Marshal(), Addresses: from}
	if candidate.NKey, err = user.PublicKey(); err != nil {
		return err
	}
	seed, err := user.Seed()
	if err != nil {
		return err
	}
	ctx, end := a.UntilStopSaying(ctx, "")
	defer end()
	if err := present(ctx, a, invitation, candidate); err != nil {
		return err
	}
	if err := writeNewFile(seedFile, append(seed, '\n'), 0o600); err != nil {
		return err
	}
	start := "ccm-push worker --workers " + invitation.URL + " --nats-nkey " + seedFile
	if ca := invitation.CAText(); ca == nil {
		caFile = ""
	} else {
		if err := os.WriteFile(caFile, ca, 0o644); err != nil {
			return err
		}
		start += " --nats-ca " + caFile
	}
	if err := addLine(a.Configuration(links.CoordinatorsList), invitation.CoordinatorKey()); err != nil {
		return err
	}
	if invitation.Site != "" {
		start += fmt.Sprintf(" --site %q", invitation.Site)
	}
	for _, p := range from {
		start += " --worker-address " + p.String()
	}
	if _, closed, err := loggedIn(ctx, invitation, seedFile, caFile); err != nil {
		a.Say("warning: the broker does not accept this machine yet: " + err.Error())
	} else {
		closed()
	}
	a.Say("this machine is a worker now; start it:")
	return p.Print(start + "\n")
}

// readToken reads a token from a file, or prompts for it.
func readToken(ctx context.Context, a *app.App, in string) (string, error) {
	if in == "" {
		return a.AskLine(ctx, "Token of ccm-push workers invite: ")
	}
	file, err := os.Open(in)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 1<<20))
	return string(text), err
}

// admitWait is the longest time until the broker accepts a new user.
const admitWait = 10 * time.Second

// present sends the keys of this machine, prompts for the comparison of fingerprints, and waits until the other machine has
// admitted this one.
func present(ctx context.Context, a *app.App, i *workers.Invitation, c *workers.Candidate) error {
	conn, closed, err := invited(ctx, a, i)
	if err != nil {
		return err
	}
	defer closed()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- i.Join(ctx, conn, c) }() // ends with ctx, and always sends an answer
	a.Say(fmt.Sprintf("the fingerprint of this machine is\n\n    %s\n", i.Fingerprint(c)))
	compared := compare(ctx, a, "Does the machine that invites show the same fingerprint? [y/N] ")
	if compared != nil {
		cancel()
		<-answer
		return compared
	}
	a.Say("waiting for the other machine")
	return <-answer
}

// invited logs in to the broker with the rights of the invitation.
func invited(ctx context.Context, a *app.App, i *workers.Invitation) (conn *nats.Conn, closed func(), err error) {
	folder, err := os.MkdirTemp("", "ccm-push-join-")
	if err != nil {
		return nil, nil, err
	}
	remove := func() { _ = os.RemoveAll(folder) }
	var seed []byte
	login, err := i.Login()
	if err == nil {
		seed, err = login.Seed()
	}
	seedFile, caFile := filepath.Join(folder, "seed"), ""
	if err == nil {
		err = os.WriteFile(seedFile, seed, 0o600)
	}
	if ca := i.CAText(); err == nil && ca != nil {
		caFile = filepath.Join(folder, "ca.pem")
		err = os.WriteFile(caFile, ca, 0o600)
	}
	var end func()
	if err == nil {
		conn, end, err = loggedIn(ctx, i, seedFile, caFile)
	}
	if err != nil {
		remove()
		return nil, nil, fmt.Errorf("logging in to the broker with the token: %w\n  hint: a token is valid for one machine and 15 minutes; create a new token: ccm-push workers invite", err)
	}
	return conn, func() { end(); remove() }, nil
}

// loggedIn logs in to the broker as a new user. It tries again until the broker accepts the user.
func loggedIn(ctx context.Context, i *workers.Invitation, seedFile, caFile string) (conn *nats.Conn, closed func(), err error) {
	for began := time.Now(); ; {
		link := temporaryLogin(i, seedFile, caFile)
		if conn, err = link.Conn(ctx); err == nil {
			return conn, link.Close, nil
		}
		link.Close()
		if time.Since(began) > admitWait || ctx.Err() != nil {
			return nil, nil, err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}
