package keys

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// Bounds of [Meta].
const (
	MaxRetries    = 1000
	MaxSemaphores = 16
	LeastLimit    = 1.0 / (24 * 60 * 60) // tries per second: one a day
	MostLimit     = 1e6
	// SemaphoreForm matches the text form of a semaphore.
	SemaphoreForm = `^[A-Za-z_][A-Za-z0-9_./-]{0,63}(:[1-9][0-9]{0,5})?$`
)

// Meta has the keys that control how the engine treats a resource, whatever its type. They are a part of [Resource].
type Meta struct {
	Retry     int      `json:"retry" doc:"how often it is tried again after a failure, 0-1000"`
	Rerun     bool     `json:"rerun" doc:"allow its command to run again if it was interrupted and its outcome is unknown (the host program was killed, or the host restarted)"`
	Delay     Seconds  `json:"delay" doc:"how long to wait before it is tried again, such as 5s; a bare number is seconds"`
	Timeout   Seconds  `json:"timeout" doc:"how long one try may take, such as 5m; a bare number is seconds; default: no limit. A type with a timeout of its own keeps that"`
	Limit     float64  `json:"limit" doc:"how many tries there may be per second"`
	Sema      []string `json:"sema" doc:"semaphores to hold during a change: NAME or NAME:N, where N is the number of hosts that can hold it at once; default 1"`
	Hidden    bool     `json:"hidden" doc:"define it but do not run it; resources that depend on it run"`
	Reverse   bool     `json:"reverse" doc:"restore the previous state in the first complete run after the resource is removed from the manifest; the play needs remembered_as"`
	History   *bool    `json:"history" default:"true" doc:"save the previous state on the host before a change, so that ccm-push undo can restore it"`
	Confirm   string   `json:"confirm" enum:"auto,always,never" doc:"whether a change of it is reverted unless a new login confirms it; default: the value of the play"`
	Watch     any      `json:"watch" doc:"how ccm-push watch handles drift: report, repair or off, or a map of keys; missing keys are taken from the play"`
	AutoEdge  *bool    `json:"autoedge" default:"true" doc:"take part in automatic edges, with strategy graph"`
	AutoGroup *bool    `json:"autogroup" default:"true" doc:"apply it together with others of its type, with strategy graph"`
}

var semaphoreForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(SemaphoreForm) })

// CheckMeta compares the values of a map of these keys with their bounds. Values that
// are open are not known yet, and wrong types are found by decoding.
func CheckMeta(n *yamlpos.Node, open func(*yamlpos.Node) bool) error {
	var errs yamlpos.Errors
	for _, pair := range n.Pairs {
		value := pair.Value
		if value.Kind == yamlpos.Scalar && open(value) {
			continue
		}
		switch pair.Key.Text {
		case "retry":
			if i, ok := value.Value.(int64); ok && (i < 0 || i > MaxRetries) {
				errs.Add(value.Errorf("", `"retry" must be from 0 to %[2]d, not %[1]d`, i, MaxRetries))
			}
		case "limit":
			errs.Add(checkLimit(value))
		case "sema":
			errs.Add(checkSemaphores(value, open))
		case "confirm":
			errs.Add(CheckConfirm(value))
		}
	}
	if Given(n.Get("delay")) != nil && Given(n.Get("retry")) == nil {
		errs.Add(n.Get("delay").Errorf(`write "retry" as well`, `"delay" is the time between tries, but "retry" is missing`))
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
	if rate >= LeastLimit && rate <= MostLimit { // so that .nan is refused too
		return nil
	}
	return n.Errorf("write how many tries there may be per second: limit: 0.5", `"limit" must be from 0.00001158 (one a day) to 1000000 a second, not %s`, n.Text)
}

func checkSemaphores(list *yamlpos.Node, open func(*yamlpos.Node) bool) error {
	var errs yamlpos.Errors
	known := map[string]bool{}
	if len(list.Items) > MaxSemaphores {
		errs.Add(list.Errorf("", "more than %d semaphores", MaxSemaphores))
	}
	for _, item := range list.Items {
		if item.Kind != yamlpos.Scalar || open(item) {
			continue
		}
		name, _, _ := strings.Cut(item.Text, ":")
		switch {
		case item.Value == nil || !semaphoreForm().MatchString(item.Text):
			errs.Add(item.Errorf("write a word of letters, digits, _, ., / and -; for two hosts at once append :2, as in database:2", "%q names no semaphore", item.Text))
		case known[name]:
			errs.Add(item.Errorf("", "the semaphore %s is named twice", name))
		}
		known[name] = true
	}
	return errs.Err()
}

// Seconds is a duration as everywhere, or a bare number of seconds.
type Seconds time.Duration

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Seconds) UnmarshalText(text []byte) error {
	d, err := parseSeconds(string(text))
	*s = Seconds(d)
	return err
}

// maxDuration bounds a delay or a timeout.
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
		return 0, fmt.Errorf("%.40q is not a duration", text)
	case d < 0 || d > maxDuration/unit:
		return 0, fmt.Errorf("%s is outside 0s-30d", text)
	}
	return d * unit, nil
}
