package playbooks

import (
	"reflect"
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
func (q *Question) CheckAnswer(a *Answer) error {
	name, kind, err := q.kind()
	if err != nil {
		return err
	}
	if len(a.Error) > maxAnswerError {
		return breach("sent a reason of %d bytes", len(a.Error))
	}
	set := fieldsSet(reflect.ValueOf(a).Elem())
	if a.Error != "" || a.Over {
		if len(set) > 1 {
			return breach("answered %s with %s and %s at once", name, set[0], set[1])
		}
		return nil
	}
	for _, field := range set {
		if !slices.Contains(kind.fields, field) {
			return breach("answered %s with %s, which the worker did not request", name, field)
		}
	}
	if kind.fits == nil {
		return nil
	}
	return kind.fits(q, a)
}

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

// checkImported checks that an entry receives the values, each for a property that receives one.
func checkImported(q *Imports, i *wire.Imported) error {
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

// checkMayHold checks that a lost host holds a semaphore that the entry claims; nil grants the claim.
func checkMayHold(c *Claims, m *share.MayHoldError) error {
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

// checkAwaited checks the result of a resource that runs once. Without a result the resource runs here.
func checkAwaited(a *Answer) error {
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

// checkLent checks that the requested host is lent with a way to it, or that the result is known.
func checkLent(on string, a *Answer) error {
	if a.Result != nil {
		if a.Lent != nil || a.Lend != "" || a.Predicted {
			return breach("lent %.100q although the result is known", a.Lend)
		}
		return checkAloneResult(a.Result)
	}
	switch {
	case a.Lend != on:
		return breach("lent %.100q in place of %.100q", a.Lend, on)
	case a.Lent == nil:
		return breach("lent %.100q without a way to it", on)
	case a.Lent.Target.Host != on:
		return breach("sent the way to %.100q in place of %.100q", a.Lent.Target.Host, on)
	case len(a.Lent.KnownHosts) > maxAnswerValue || len(a.Lent.Certificate) > maxMessageText:
		return breach("sent %d bytes of known hosts and a certificate of %d bytes", len(a.Lent.KnownHosts), len(a.Lent.Certificate))
	}
	if _, err := a.Lent.Target.Target(); err != nil {
		return breach("sent a target that is not allowed: %v", err)
	}
	if inv, err := a.Lent.Inventory.Inventory(); err != nil || len(inv.Hosts()) != 1 || inv.Host(on) == nil {
		return breach("lent %.100q with the inventory of other hosts, or none: %v", on, err)
	}
	return nil
}

// checkLooked checks that the found data have the requested kind.
func checkLooked(l *Lookup, found *Looked) error {
	switch {
	case found == nil:
		return breach("sent nothing for a look-up")
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

// checkOtherFacts checks the facts of other hosts.
func checkOtherFacts(o *OtherFacts) error {
	if o == nil {
		return breach("sent no facts of other hosts")
	}
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
