package trust

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/transport/dial"
)

// Options decide about the keys of unknown hosts. By default, a prompt is printed on Err, and a person answers on In.
type Options struct {
	Unasked      bool          // keys are added without a prompt
	Check        bool          // nothing is added
	Fingerprints *Fingerprints // collected beforehand: other keys are refused; nil compares nothing
	JSON         bool          // Out gets one line of JSON for each host

	In       io.Reader
	Out, Err io.Writer
	Warn     func(string)
}

// An Outcome is the outcome for all hosts together.
type Outcome struct {
	Failed bool // a host was not reached, has a wrong key, or was declined
	New    bool // a host has become known, or would with Check unset
}

// Enrol requests the keys of hosts, and of the unknown jump hosts on the route to them, and adds the unknown ones. If
// ctx has ended, the error wraps its error.
func Enrol(ctx context.Context, f Fleet, hosts []*inventory.Host, o Options) (Outcome, error) {
	e := &enrolment{fleet: f, options: o, warned: map[string]bool{}}
	rounds, err := f.rounds(hosts)
	if err != nil {
		return Outcome{}, err
	}
	if o.Unasked && o.Fingerprints == nil && !o.Check {
		o.Warn("--yes trusts the keys that answer now: no fingerprints are compared")
	}
	for _, round := range rounds {
		f.scan(ctx, round)
		if ctx.Err() != nil {
			return Outcome{}, ctx.Err()
		}
		if err := e.settle(ctx, e.judge(round)); err != nil {
			return Outcome{}, err
		}
	}
	return e.outcome, nil
}

// An enrolment is one call of Enrol.
type enrolment struct {
	fleet   Fleet
	options Options
	asked   []*verdict      // verdicts of all rounds so far
	warned  map[string]bool // sets of hosts, folded, that were reported as having the same key
	outcome Outcome
}

// judge decides about the hosts of a round.
func (e *enrolment) judge(round []candidate) []*verdict {
	var all []*verdict
	for _, c := range round {
		v := &verdict{candidate: c, state: stateNew, keys: c.scan.Keys}
		switch {
		case c.err != nil:
			v.failed(c.err)
		case c.scan.Known != "":
			v.state, v.keys = stateKnown, nil
		case e.options.Fingerprints != nil:
			v.compare(e.options.Fingerprints)
		}
		e.outcome.Failed = e.outcome.Failed || v.state != stateNew && v.state != stateKnown
		all = append(all, v)
	}
	e.asked = append(e.asked, all...)
	return all
}

// settle shows the verdicts of a round, prompts, and adds the accepted keys.
func (e *enrolment) settle(ctx context.Context, verdicts []*verdict) error {
	fresh := slices.DeleteFunc(slices.Clone(verdicts), func(v *verdict) bool { return v.state != stateNew })
	e.outcome.New = e.outcome.New || len(fresh) > 0
	if len(fresh) == 0 || e.options.Check {
		if e.options.JSON {
			return e.showJSON(verdicts)
		}
		return e.showText(verdicts)
	}
	asks := !e.options.Unasked
	if asks || !e.options.JSON {
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
		e.outcome.Failed = true
		for _, v := range fresh {
			v.state = stateDeclined
		}
	}
	if e.options.JSON {
		return e.showJSON(verdicts)
	}
	return e.showAdded(fresh)
}

// add writes the keys of hosts down.
func (e *enrolment) add(ctx context.Context, fresh []*verdict) {
	trusted := make([]dial.Trusted, len(fresh))
	for i, v := range fresh {
		trusted[i] = dial.Trusted{Target: v.target, Keys: v.keys}
	}
	for i, err := range e.fleet.Dialer.Trust(ctx, trusted) {
		fresh[i].state = stateAdded
		if err != nil {
			e.outcome.Failed = true
			fresh[i].failed(err)
			if fresh[i].state == stateUnreachable {
				fresh[i].state = stateFailed
			}
		}
	}
}

// files are the known_hosts files that the keys of hosts go to, each once.
func (e *enrolment) files(verdicts []*verdict) []string {
	var files []string
	for _, v := range verdicts {
		if f := e.fleet.Dialer.TrustFile(v.target); !slices.Contains(files, f) {
			files = append(files, f)
		}
	}
	return files
}

// ask prompts a person about all new hosts of a round at once.
func (e *enrolment) ask(ctx context.Context, fresh []*verdict) (sure bool, err error) {
	keys := 0
	for _, v := range fresh {
		keys += len(v.keys)
	}
	what := "Is this its key? It"
	switch {
	case len(fresh) > 1:
		what = fmt.Sprintf("Are these the keys of the %d hosts? They", len(fresh))
	case keys > 1:
		what = "Are these its keys? They"
	}
	fmt.Fprintf(e.options.Err, "%s will be trusted from now on (%s). [y/N] ", what, strings.Join(e.files(fresh), ", "))
	answer := make(chan string, 1)
	go func() { // ends with the program if there is no answer: a terminal cannot be given up
		line, _ := bufio.NewReader(e.options.In).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case said := <-answer:
		return said == "y" || said == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(e.options.Err)
		return false, ctx.Err()
	}
}
