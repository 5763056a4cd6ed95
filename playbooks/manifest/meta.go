package manifest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
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

// metaKeys are the keys that come to a [Meta]. They are a part of commonKeys.
type metaKeys struct {
	Retry     int      `json:"retry" doc:"how often it is tried again after a failure, 0-1000"`
	Delay     seconds  `json:"delay" doc:"how long to wait before it is tried again, such as 5s; a bare number is seconds"`
	Timeout   seconds  `json:"timeout" doc:"how long one try may take, such as 5m; a bare number is seconds; default: no limit. A type with a timeout of its own keeps that"`
	Limit     float64  `json:"limit" doc:"how many tries there may be per second"`
	Sema      []string `json:"sema" doc:"semaphores to hold while something is changed: NAME or NAME:N, where N is how many hosts may hold it at once; default 1"`
	Hidden    bool     `json:"hidden" doc:"define it, and do not run it; what depends on it runs"`
	Reverse   bool     `json:"reverse" doc:"put back what was there before, in the first whole run in which the manifest is without it; the play needs remembered_as"`
	AutoEdge  *bool    `json:"autoedge" default:"true" doc:"take part in automatic edges, with strategy graph"`
	AutoGroup *bool    `json:"autogroup" default:"true" doc:"be carried out together with others of its type, with strategy graph"`
}

// seconds is a duration as everywhere, or a bare number of seconds.
type seconds time.Duration

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *seconds) UnmarshalText(text []byte) error {
	d, err := parseSeconds(string(text))
	*s = seconds(d)
	return err
}

// maxDuration is that of a delay or a timeout.
const maxDuration = 30 * 24 * time.Hour

func parseSeconds(text string) (time.Duration, error) {
	unit := time.Duration(1)
	number := text
	if days, ok := strings.CutSuffix(text, "d"); ok {
		number, unit = days+"h", 24
	}
	d, err := time.ParseDuration(number)
	if n, bare := strconv.ParseFloat(text, 64); bare == nil && !math.IsNaN(n) && math.Abs(n) < 1e9 {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%.40q is no duration", text)
	case d < 0 || d > maxDuration/unit:
		return 0, fmt.Errorf("%s is outside 0s-30d", text)
	}
	return d * unit, nil
}

var (
	metaNames     = jsonNames(metaType)
	semaphoreForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(semaphorePattern) })
)

const semaphorePattern = `^[A-Za-z_][A-Za-z0-9_./-]{0,63}(:[1-9][0-9]{0,5})?$`

// Bounds of a [Meta].
const (
	maxRetries    = 1000
	maxSemaphores = 16
	leastLimit    = 1.0 / (24 * 60 * 60) // tries per second: one a day
	mostLimit     = 1e6
)

// meta reads what stands in the common keys of a resource.
func (l *loader) meta(r *Resource, n *yamlpos.Node) {
	own := *n
	own.Pairs = slices.DeleteFunc(slices.Clone(n.Pairs), func(p yamlpos.Pair) bool {
		return !slices.Contains(metaNames, p.Key.Text) || given(p.Value) == nil
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
			if i, ok := value.Value.(int64); ok && (i < 0 || i > maxRetries) {
				errs.Add(value.Errorf("", "retry %d is outside 0-%d", i, maxRetries))
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
	if rate >= leastLimit && rate <= mostLimit { // so that .nan is refused too
		return nil
	}
	return n.Errorf("write how many tries there may be per second: limit: 0.5", "limit %s is outside one a day (0.00001158) to 1000000 a second", n.Text)
}

func checkSemaphores(list *yamlpos.Node, open func(*yamlpos.Node) bool) error {
	var errs yamlpos.Errors
	known := map[string]bool{}
	if len(list.Items) > maxSemaphores {
		errs.Add(list.Errorf("", "more than %d semaphores", maxSemaphores))
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

// DecodeMeta reads resolved values: what [Resource.Meta] comes to for a host; nil
// is the defaults.
func DecodeMeta(n *yamlpos.Node) (Meta, error) {
	m := Meta{AutoEdge: true, AutoGroup: true}
	if n == nil {
		return m, nil
	}
	var keys metaKeys
	var errs yamlpos.Errors
	errs.Add(yamlpos.Decode(n, &keys))
	errs.Add(checkMeta(n, func(*yamlpos.Node) bool { return false }))
	m.Retry, m.Delay, m.Timeout, m.Limit = keys.Retry, time.Duration(keys.Delay), time.Duration(keys.Timeout), keys.Limit
	m.Hidden, m.Reverse = keys.Hidden, keys.Reverse
	if keys.AutoEdge != nil {
		m.AutoEdge = *keys.AutoEdge
	}
	if keys.AutoGroup != nil {
		m.AutoGroup = *keys.AutoGroup
	}
	m.Sema = slices.Sorted(slices.Values(keys.Sema))
	return m, errs.Err()
}

// isCommon reports whether a key means the same for every type. Those of the
// graph and the engine give way to properties of a type that are called so.
func isCommon(t modules.Type, key string) bool {
	return slices.Contains(commonNames, key) && !(yields(key) && isProperty(t, key))
}

// yields reports whether a common key gives way to a property.
func yields(key string) bool {
	return slices.Contains(metaNames, key) || slices.Contains([]string{"before", "notify", "recv", "export"}, key)
}
