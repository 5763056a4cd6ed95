package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/links"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/natsconn"
	"github.com/ccm-push/ccm-push/playbooks/workers"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
)

func workersInviteCommand(f *fleet.Fleet, p *output.Printer) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "invite [SITE]",
		Short: "print a token for a new worker, and admit the machine that uses the token",
		Long: `ccm-push workers invite prints a token, with which one other machine can become a worker (ccm-push
worker join). The token is valid for 15 minutes, and the command waits until it is used. When the
other machine uses the token, both machines print a fingerprint. If the fingerprints are equal,
answer y on both machines.

After these answers, the broker adds the other machine as a user with the role worker. On this
machine, the command adds a line with the key of the other machine to workers.keys. The line limits
the worker to hosts whose variable "site" is SITE (without SITE: to hosts without a site). It also
limits the worker to the addresses that the other machine passed with --worker-address.

The NATS server must be the program ccm-push-broker, and your NATS user needs the role coordinator
or operator. Keep the token secret until it is used: another person with the token could become the
worker. The token contains the address of the NATS server, the CA certificate of --nats-ca, and the
public key of this machine.`,
		Example: `  ccm-push workers invite --workers tls://nats.example.com:4222
  ccm-push workers invite paris --token-file token
  ccm-push worker join --token-file token`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			site := ""
			if len(args) > 0 {
				site = args[0]
			}
			return invite(cmd.Context(), f, p, site, out)
		},
	}
	c.Flags().StringVar(&out, "token-file", "", "write the token to a new `file` instead of the terminal; the file is removed when this command ends")
	return c
}

// invite makes a token, and admits the machine that joins with it.
func invite(ctx context.Context, f *fleet.Fleet, p *output.Printer, site, out string) error {
	a, w := f.App, &f.Workers
	if w.Flags.Workers.URL == "" {
		return errNoWorkersURL
	}
	if !a.CanAsk() {
		return errors.New("invite compares fingerprints on the terminal, and standard input is not a terminal")
	}
	if _, err := keyring.SiteOption(site); err != nil {
		return err
	}
	path := cmp.Or(w.Flags.Workers.Key, a.Configuration(links.CoordinatorKey))
	key, err := ownKey(path, "controller")
	if err != nil {
		return err
	}
	var ca []byte
	if file := w.Config().CA; file != "" {
		if ca, err = os.ReadFile(file); err != nil {
			return fmt.Errorf("the authority of the broker: %w", err)
		}
	}
	name, _ := os.Hostname() // shown to the operator; may be empty
	invitation, err := workers.NewInvitation(w.Address(), ca, key, name, site)
	if err != nil {
		return err
	}
	conn, err := w.Connection().Conn(ctx)
	if err != nil {
		return err
	}
	ctx, end := a.UntilStopSaying(ctx, "")
	defer end()
	list := cmp.Or(w.Flags.Workers.List, a.Configuration(links.WorkerList))
	admit := func(c *workers.Candidate) error {
		there, err := keyring.OpenWorkerList(list, nil)
		if err == nil {
			err = c.RefusedBy(there.Ring(), site)
		} else if errors.Is(err, fs.ErrNotExist) || errors.Is(err, keyring.ErrNoKey) {
			err = nil
		}
		if err != nil {
			return err
		}
		from := ""
		if len(c.Addresses) > 0 {
			from = fmt.Sprintf(" with the addresses %v", c.Addresses)
		}
		a.Say(fmt.Sprintf("machine %s wants to become a worker%s%s; its fingerprint is\n\n    %s\n", events.Line(c.Name), ofSite(site), from, invitation.Fingerprint(c)))
		return compare(ctx, a, "Does that machine show the same fingerprint? [y/N] ")
	}
	record := func(c *workers.Candidate) error {
		line, err := c.Line(site)
		if err != nil {
			return err
		}
		return addLine(list, line)
	}
	written := false
	defer func() {
		if written { // the token is of no use any more, and the next invitation can write the file again
			_ = os.Remove(out)
		}
	}()
	ready := func() error {
		err := handToken(a, p, invitation, out)
		written = err == nil && out != ""
		return err
	}
	if err := invitation.Await(ctx, conn, ready, admit, record); err != nil {
		return err
	}
	a.Say("the worker is admitted: its key is in " + list)
	return nil
}

// handToken prints the token, or writes it to a new file.
func handToken(a *app.App, p *output.Printer, i *workers.Invitation, out string) error {
	token, err := i.Token()
	if err != nil {
		return err
	}
	how := "paste it at the prompt there"
	if out == "" {
		err = p.Print(token + "\n")
	} else {
		how = "copy " + out + " there, and add --token-file"
		err = writeNewFile(out, []byte(token+"\n"), 0o600)
	}
	if err == nil {
		a.Say("the token is secret, for one machine, and valid until " + i.Until.Local().Format(time.TimeOnly) + "; on that machine run: ccm-push worker join  (" + how + ")")
	}
	return err
}

var errNotCompared = errors.New("the fingerprints were not confirmed to be equal; no key was accepted")

// compare prompts for whether two fingerprints are equal; every answer except yes is an error.
func compare(ctx context.Context, a *app.App, question string) error {
	answer, err := a.AskLine(ctx, question)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errNotCompared
}

// ownKey reads a private key of this machine. It makes a missing one.
func ownKey(path, comment string) (keyring.Key, error) {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return keyring.ReadKey(path)
	}
	private, _, err := workers.NewWorkerKey(comment)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = writeNewFile(path, private, 0o600)
	}
	if err != nil {
		return keyring.Key{}, err
	}
	key, err := keyring.ReadKey(path)
	if err == nil {
		err = writeNewFile(path+".pub", []byte(key.Public()+" "+comment+"\n"), 0o644)
	}
	return key, err
}

func writeNewFile(path string, text []byte, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// addLine adds a line to a list of keys, unless the list has it.
func addLine(path, line string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		return err
	}
	if bytes.Contains(text, bytes.TrimSpace(ssh.MarshalAuthorizedKey(key))) {
		return nil
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		line = "\n" + line
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	return errors.Join(err, file.Close())
}

// temporaryLogin logs in to the broker of an invitation, without messages.
func temporaryLogin(i *workers.Invitation, seed string, ca string) *natsconn.Link {
	return natsconn.New(natsconn.Config{Servers: i.URL, NKey: seed, CA: ca, Name: "ccm-push worker join", Warn: func(string) {}, Outage: func(string) {}})
}
