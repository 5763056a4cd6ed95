package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"
	"golang.org/x/term"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/transport"
)

// trustOptions are the flags of trust.
type trustOptions struct {
	yes          bool
	fingerprints string // path; "" is none
}

func (a *app) trustCommand() *cobra.Command {
	var o trustOptions
	c := &cobra.Command{
		Use:   "trust PATTERN",
		Short: "show the keys of new hosts, and add them to known_hosts",
		Long: `trust asks the hosts of a pattern for their keys, and the jump hosts on the way
that are not known; it logs in to none but known jump hosts. It shows the
fingerprints of new hosts, asks once whether they are right, and adds them to the
known_hosts file that a run would read. Hosts that are known are left alone, and a
key that has changed is refused: only you can remove it.

Compare the fingerprints with what the hosts' consoles show, or with what
ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub says on them. --fingerprints FILE
does that: only keys that the file has for their host are added. Its lines are such as

  web1 SHA256:…
  web1 256 SHA256:… root@web1 (ED25519)
  web1 ssh-ed25519 AAAA…

With --yes nobody is asked. Alone it trusts whoever answers now.`,
		Args:              onePattern,
		ValidArgsFunction: a.completePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.flags.listHosts {
				return a.listPattern(cmd.Context(), args)
			}
			return a.trust(cmd.Context(), args[0], o)
		},
	}
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "ask nobody")
	c.Flags().StringVar(&o.fingerprints, "fingerprints", "", "add only keys that this file has for their host")
	return c
}

// errNobody is why trust does not begin.
var errNobody = errors.New("there is no terminal to ask whether the keys are right: give the file of --fingerprints and --yes, or --yes alone to trust whoever answers now")

// trust enrols the new ones among the hosts of a pattern.
func (a *app) trust(ctx context.Context, pattern string, o trustOptions) error {
	if !o.yes && !a.flags.check && !a.canAsk() {
		return errNobody
	}
	e := &enrolment{app: a, options: o, warned: map[string]bool{}}
	if o.fingerprints != "" {
		var err error
		if e.vouched, err = readFingerprints(o.fingerprints); err != nil {
			return err
		}
	}
	a.flags.newKnownHosts = true
	r, hosts, err := a.runnerFor(ctx, pattern)
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	if err := a.credentials(ctx, r, hosts); err != nil { // jump hosts are logged in to
		return err
	}
	e.runner = r
	return e.run(ctx, hosts)
}

// canAsk reports whether a person reads what we write and can answer.
func (a *app) canAsk() bool {
	f, ok := a.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// An enrolment is one call of trust.
type enrolment struct {
	*app
	options trustOptions
	vouched fingerprints // nil without --fingerprints
	runner  *playbooks.Runner
	asked   []*verdict
	warned  map[string]bool // of these hosts, folded, that they have the same key
	wrong   bool            // a host was not reached, or is not what it should be
	fresh   bool            // a host has become known, or would
}

func (e *enrolment) run(ctx context.Context, hosts []*inventory.Host) error {
	ctx, end := e.untilStop(ctx)
	defer end()
	rounds, err := e.runner.Strangers(hosts)
	if err != nil {
		return err
	}
	if e.options.yes && e.vouched == nil && !e.flags.check {
		e.warn("--yes trusts whoever answers now: nobody compares the fingerprints")
	}
	for _, round := range rounds {
		e.runner.AskKeys(ctx, round)
		if ctx.Err() != nil {
			return exitStatus(interruptedStatus)
		}
		verdicts := e.judge(round)
		if err := e.settle(ctx, verdicts); err != nil {
			return err
		}
	}
	return e.status()
}

const (
	unreachableStatus = 4
	changedStatus     = 8
)

func (e *enrolment) status() error {
	status := 0
	if e.wrong {
		status += unreachableStatus
	}
	if e.fresh && e.flags.detailedExitCode {
		status += changedStatus
	}
	if status == 0 {
		return nil
	}
	return exitStatus(status)
}

// A verdict is what becomes of one host.
type verdict struct {
	playbooks.Stranger
	state  trustState
	keys   []ssh.PublicKey // to be added
	others []ssh.PublicKey // that nobody vouches for
	why    string
	hint   string
}

// trustState is the status of a host in the output of trust.
type trustState string

const (
	trustNew         trustState = "new"
	trustAdded       trustState = "added"
	trustKnown       trustState = "known"
	trustChanged     trustState = "changed"
	trustRevoked     trustState = "revoked"
	trustRefused     trustState = "refused"  // by --fingerprints
	trustDeclined    trustState = "declined" // by the one who was asked
	trustFailed      trustState = "failed"   // the file could not be written
	trustUnreachable trustState = "unreachable"
)

// judge decides what becomes of the hosts of a round.
func (e *enrolment) judge(round []playbooks.Stranger) []*verdict {
	var all []*verdict
	for _, s := range round {
		v := &verdict{Stranger: s, state: trustNew, keys: s.Scan.Keys}
		switch {
		case s.Err != nil:
			v.failed(s.Err)
		case s.Scan.Known != "":
			v.state, v.keys = trustKnown, nil
		case e.vouched != nil:
			e.compare(v)
		}
		e.wrong = e.wrong || v.state != trustNew && v.state != trustKnown
		all = append(all, v)
	}
	e.asked = append(e.asked, all...)
	return all
}

// failed sorts an error of the host.
func (v *verdict) failed(err error) {
	v.state, v.keys = trustUnreachable, nil
	switch {
	case errors.Is(err, transport.ErrHostKeyChanged) && len(v.Scan.Keys) > 0:
		v.state = trustChanged
	case errors.Is(err, transport.ErrHostKeyRevoked):
		v.state = trustRevoked
	}
	v.why = err.Error()
	if he, ok := errors.AsType[*transport.HostError](err); ok {
		v.why, v.hint = he.Cause(), he.Hint
		if v.state != trustUnreachable {
			v.why = he.Err.Error()
		}
	}
}

// compare holds the keys of a new host against the file of fingerprints.
func (e *enrolment) compare(v *verdict) {
	v.keys, v.others = e.vouched.vouched(v.Target, v.Scan.Keys)
	if len(v.keys) > 0 {
		return
	}
	v.state = trustRefused
	if len(e.vouched.of(v.Target)) > 0 {
		v.why = "it shows none of the keys that " + e.options.fingerprints + " has for it"
	} else {
		v.why = e.options.fingerprints + " has nothing for it"
		v.hint = "the file names a host as the inventory does, or as known_hosts would: " + v.Target.KnownName()
	}
}

// settle shows the verdicts, asks, and adds what may be added.
func (e *enrolment) settle(ctx context.Context, verdicts []*verdict) error {
	fresh := slices.DeleteFunc(slices.Clone(verdicts), func(v *verdict) bool { return v.state != trustNew })
	e.fresh = e.fresh || len(fresh) > 0
	if len(fresh) == 0 || e.flags.check {
		return e.show(verdicts)
	}
	asks := !e.options.yes
	if asks || e.flags.output != "json" {
		if err := e.showText(verdicts); err != nil {
			return err
		}
	}
	sure := true
	if asks {
		var err error
		if sure, err = e.ask(ctx, fresh); err != nil {
			return err
		}
	}
	if sure {
		e.add(ctx, fresh)
	} else {
		e.wrong = true
		for _, v := range fresh {
			v.state = trustDeclined
		}
	}
	if e.flags.output == "json" {
		return e.showJSON(verdicts)
	}
	return e.tellAdded(fresh)
}

// add writes the keys of hosts down.
func (e *enrolment) add(ctx context.Context, fresh []*verdict) {
	trusted := make([]transport.Trusted, len(fresh))
	for i, v := range fresh {
		trusted[i] = transport.Trusted{Target: v.Target, Keys: v.keys}
	}
	for i, err := range e.runner.Dialer.Trust(ctx, trusted) {
		fresh[i].state = trustAdded
		if err != nil {
			e.wrong = true
			fresh[i].failed(err)
			if fresh[i].state == trustUnreachable {
				fresh[i].state = trustFailed
			}
		}
	}
}

// ask has a person decide about all new hosts of a round at once.
func (e *enrolment) ask(ctx context.Context, fresh []*verdict) (sure bool, err error) {
	what := "Is this its key? It"
	switch keys := countKeys(fresh); {
	case len(fresh) > 1:
		what = fmt.Sprintf("Are these the keys of the %d hosts? They", len(fresh))
	case keys > 1:
		what = "Are these its keys? They"
	}
	fmt.Fprintf(e.err, "%s will be trusted from now on (%s). [y/N] ", what, strings.Join(e.files(fresh), ", "))
	answer := make(chan string, 1)
	go func() { // ends with the program if nobody answers: a terminal cannot be given up
		line, _ := bufio.NewReader(e.in).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case said := <-answer:
		return said == "y" || said == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(e.err)
		return false, exitStatus(interruptedStatus)
	}
}

func countKeys(verdicts []*verdict) int {
	n := 0
	for _, v := range verdicts {
		n += len(v.keys)
	}
	return n
}

// files are those that the keys of hosts go to, each once.
func (e *enrolment) files(verdicts []*verdict) []string {
	var files []string
	for _, v := range verdicts {
		if f := e.runner.Dialer.TrustFile(v.Target); !slices.Contains(files, f) {
			files = append(files, f)
		}
	}
	return files
}
