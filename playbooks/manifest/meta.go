package manifest

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// A Meta is how the engine treats a resource, whatever its type.
type Meta struct {
	Retry     int
	Delay     time.Duration
	Timeout   time.Duration // of one try; 0 is any time
	Limit     float64       // tries per second; 0 is any number
	Sema      []string      // as written, NAME or NAME:N; sorted, each once
	Hidden    bool
	Reverse   bool
	AutoEdge  bool
	AutoGroup bool
}

var semaphoreForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(keys.SemaphoreForm) })

// meta reads what stands in the common keys of a resource.
func (l *loader) meta(r *Resource, n *yamlpos.Node) {
	own := *n
	own.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), func(p yamlpos.Pair) bool {
		return !slices.Contains(keys.OfMeta, p.Key.Text) || given(p.Value) == nil
	})
	if len(own.Pairs) == 0 {
		return
	}
	v := l.value(&own)
	r.Meta = &v
	l.add(checkMeta(&own, v.Open))
	l.checkReverse(r, &own)
	if !r.Applies() {
		return
	}
	for _, pair := range own.Pairs {
		hint := "write it at the resources of that manifest"
		switch pair.Key.Text {
		case "autoedge":
			continue
		case "reverse":
			hint = "write the resources that are to be undone into the play itself"
		}
		l.add(pair.Key.Errorf(hint, "%s has no meaning for a resource that applies a manifest", pair.Key.Text))
	}
}

// checkMeta holds the values that are known against their bounds. That they have
// the right type is found by decoding.
func checkMeta(n *yamlpos.Node, open func(*yamlpos.Node) bool) error {
	var errs yamlpos.Errors
	for _, pair := range n.Pairs {
		value := pair.Value
		if value.Kind == yamlpos.Scalar && open(value) {
			continue
		}
		switch pair.Key.Text {
		case "retry":
			if i, ok := value.Value.(int64); ok && (i < 0 || i > keys.MaxRetries) {
				errs.Add(value.Errorf("", "retry %d is outside 0-%d", i, keys.MaxRetries))
			}
		case "limit":
			errs.Add(checkLimit(value))
		case "sema":
			errs.Add(checkSemaphores(value, open))
		}
	}
	if given(n.Get("delay")) != nil && given(n.Get("retry")) == nil {
		errs.Add(n.Get("delay").Errorf("write retry as well", "delay is the time between tries, and there is no retry"))
	}
	return errs.Err()
}

func checkLimit(n *yamlpos.Node) error {
	rate := 0.0
	switch value := n.Value.(type) {
	case int64:
		rate = float64(value)
	case float64:
		rate = value
	default:
		return nil
	}
	if rate >= keys.LeastLimit && rate <= keys.MostLimit { // so that .nan is refused too
		return nil
	}
	return n.Errorf("write how many tries there may be per second: limit: 0.5", "limit %s is outside one a day (0.00001158) to 1000000 a second", n.Text)
}

func checkSemaphores(list *yamlpos.Node, open func(*yamlpos.Node) bool) error {
	var errs yamlpos.Errors
	known := map[string]bool{}
	if len(list.Items) > keys.MaxSemaphores {
		errs.Add(list.Errorf("", "more than %d semaphores", keys.MaxSemaphores))
	}
	for _, item := range list.Items {
		if item.Kind != yamlpos.Scalar || open(item) {
			continue
		}
		name, _, _ := strings.Cut(item.Text, ":")
		switch {
		case item.Value == nil || !semaphoreForm().MatchString(item.Text):
			errs.Add(item.Errorf("write a word of letters, digits, _, ., / and -, and perhaps how many hosts may hold it: database:2", "%q names no semaphore", item.Text))
		case known[name]:
			errs.Add(item.Errorf("", "the semaphore %s is named twice", name))
		}
		known[name] = true
	}
	return errs.Err()
}

// hidden reports whether the resource is written as one that is never carried out.
func (r *Resource) hidden() bool {
	if r.Meta == nil {
		return false
	}
	hidden := r.Meta.Node.Get("hidden")
	return hidden != nil && hidden.Value == true
}

// DecodeMeta reads resolved values: what [Resource.Meta] comes to for a host; nil
// is the defaults.
func DecodeMeta(n *yamlpos.Node) (Meta, error) {
	m := Meta{AutoEdge: true, AutoGroup: true}
	if n == nil {
		return m, nil
	}
	var k keys.Meta
	var errs yamlpos.Errors
	errs.Add(yamlpos.Decode(n, &k))
	errs.Add(checkMeta(n, func(*yamlpos.Node) bool { return false }))
	m.Retry, m.Delay, m.Timeout, m.Limit = k.Retry, time.Duration(k.Delay), time.Duration(k.Timeout), k.Limit
	m.Hidden, m.Reverse = k.Hidden, k.Reverse
	if k.AutoEdge != nil {
		m.AutoEdge = *k.AutoEdge
	}
	if k.AutoGroup != nil {
		m.AutoGroup = *k.AutoGroup
	}
	m.Sema = slices.Sorted(slices.Values(k.Sema))
	return m, errs.Err()
}
