package playbooks

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/share"
)

// Limits of a coordinator's answers.
const (
	maxAnswerError    = 1 << 20                // bytes of a reason: it may have an excerpt for each resource
	maxAnswerValue    = wire.MaxFromController // bytes of a value that is looked up, or of known hosts
	maxAnswerImported = wire.MaxFromHost       // bytes of a value of another host
)

// CheckAnswer checks an answer of the coordinator against the question of this worker. It returns a [BreachError] if the
// answer does not fit the question.
func CheckAnswer(q Question, a *Answer) error {
	name, of, err := kindOf(questionKinds, q)
	if err != nil {
		return err
	}
	if len(a.Error) > maxAnswerError {
		return breach("sent a reason of %d bytes", len(a.Error))
	}
	if a.Error == "" && !a.Over {
		err = of.fits(q, a.Value)
	} else if a.Error != "" && a.Over || len(a.Value) > 0 {
		err = breach("sent an error, an end and a value at once")
	}
	if err != nil {
		return breach("answered %s: it %v", name, err)
	}
	return nil
}

// fits implements [valued].
func (Here) fits(r *wire.Result) error { return checkAloneResult(r) }

// checkAloneResult checks the result of an entry that ran elsewhere, where it is the only one. r may be nil.
func checkAloneResult(r *wire.Result) error {
	if r == nil {
		return nil
	}
	if r.Index != 0 {
		return breach("sent the result of resource %d of 1", r.Index)
	}
	return checkResult(r)
}

// fits checks that the entry receives the values, each for a property that receives one.
func (q Imports) fits(i *wire.Imported) error {
	switch {
	case i == nil:
		return breach("sent no values for resource %d", q.Index)
	case i.Index != q.Index:
		return breach("sent values for resource %d in place of %d", i.Index, q.Index)
	case i.Error != "":
		if len(i.Values) > 0 || i.Unknown {
			return breach("sent values for resource %d together with an error", i.Index)
		}
		return checkText("a reason", i.Error)
	}
	for property, value := range i.Values {
		if !slices.Contains(q.Properties, property) {
			return breach("sent a value for %.100q of resource %d, which receives none", property, i.Index)
		}
		if len(value) == 0 || len(value) > maxAnswerImported {
			return breach("sent a value of %d bytes for %.100q of resource %d", len(value), property, i.Index)
		}
	}
	if len(i.Values) < len(q.Properties) && !i.Unknown {
		return breach("sent %d of the %d values for resource %d", len(i.Values), len(q.Properties), i.Index)
	}
	return nil
}

// fits checks that a lost host holds a semaphore that the entry claims; nil grants the claim.
func (c Claims) fits(m *share.MayHoldError) error {
	if m == nil {
		return nil
	}
	claimed := slices.ContainsFunc(c.Semaphores, func(one string) bool {
		name, _, _ := strings.Cut(one, ":")
		return name == m.Semaphore
	})
	if !claimed {
		return breach("refused the semaphore %.100q, which resource %d does not claim", m.Semaphore, c.Index)
	}
	return checkText("the holder of a semaphore", m.Host, m.What)
}

// fits checks the result of a resource that runs once. Without a result the resource runs here.
func (Awaits) fits(a Awaited) error {
	if a.Result == nil {
		if a.On != "" {
			return breach("sent the host %.100q of a resource that runs once without its result", a.On)
		}
		return nil
	}
	if err := checkIndex(a.Result.Index); err != nil { // the catalog of another host may number it differently
		return err
	}
	if err := checkText("a host", a.On); err != nil {
		return err
	}
	return checkResult(a.Result)
}

// fits checks that the requested host is lent with a way to it, or that the result is known.
func (b Borrow) fits(l Loan) error {
	if l.Result != nil {
		if l.Lent != nil || l.Predicted {
			return breach("lent %.100q although the result is known", b.On)
		}
		return checkAloneResult(l.Result)
	}
	switch {
	case l.Lent == nil:
		return breach("lent %.100q without a way to it", b.On)
	case l.Lent.Target.Host != b.On:
		return breach("sent the way to %.100q in place of %.100q", l.Lent.Target.Host, b.On)
	case len(l.Lent.KnownHosts) > maxAnswerValue || len(l.Lent.Certificate) > maxMessageText:
		return breach("sent %d bytes of known hosts and a certificate of %d bytes", len(l.Lent.KnownHosts), len(l.Lent.Certificate))
	}
	if _, err := l.Lent.Target.Target(); err != nil {
		return breach("sent a target that is not allowed: %v", err)
	}
	if inv, err := l.Lent.Inventory.Inventory(); err != nil || len(inv.Hosts()) != 1 || inv.Host(b.On) == nil {
		return breach("lent %.100q with the inventory of other hosts, or none: %v", b.On, err)
	}
	return nil
}

// fits checks that the found data have the requested kind.
func (l Lookup) fits(found Looked) error {
	switch {
	case len(found.Value) > maxAnswerValue:
		return breach("sent a value of %d bytes", len(found.Value))
	case l.Key == nil && found.Value != nil, l.Registration == nil && found.Registered.Node != nil:
		return breach("sent a value in place of registrations, or registrations in place of a value")
	}
	if n := found.Registered.Node; n != nil && (n.Kind != yamlpos.List && n.Value != nil || deeper(n, maxFactsDepth)) {
		return breach("sent registrations that are not a list, or are nested more than %d levels deep", maxFactsDepth)
	}
	return nil
}

// fits checks the facts of other hosts.
func (FactsOfOthers) fits(o OtherFacts) error {
	if len(o.Facts)+len(o.Unknown) > maxMessageEntries {
		return breach("sent facts of %d hosts", len(o.Facts)+len(o.Unknown))
	}
	for host, found := range o.Facts {
		if _, unknown := o.Unknown[host]; unknown || found.Node == nil || found.Kind != yamlpos.Map || deeper(found.Node, maxFactsDepth) {
			return breach("sent invalid facts of %.100q: they are not a map, nested more than %d levels deep, or unknown", host, maxFactsDepth)
		}
	}
	for host, why := range o.Unknown {
		if err := checkText("a reason", host, why); err != nil {
			return err
		}
	}
	return nil
}
