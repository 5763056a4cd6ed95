package playbooks

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

// What watched hosts say and are told: both may go to another machine, where a worker watches them.

// WatchNews is what a watched host says. One of what is behind Play is set.
type WatchNews struct {
	Play   int          `json:"play,omitempty"` // that it is about, from 1
	Stood  *WatchStood  `json:"stood,omitempty"`
	Told   *WatchTold   `json:"told,omitempty"`
	Mended *WatchMended `json:"mended,omitempty"`
	Lost   *WatchLost   `json:"lost,omitempty"`
}

// WatchStood is what the resources of a play came to when it was sent to be watched. Those without a verdict are
// as they shall be.
type WatchStood struct {
	Entries  []watchedEntry
	Verdicts []WatchVerdict
}

// WatchTold is what has become of resources since. Heard says that the host now listens, to all of the play but Polled
// resources; else there are so many more of those.
type WatchTold struct {
	Verdicts []WatchVerdict `json:"verdicts,omitempty"`
	Heard    bool           `json:"heard,omitempty"`
	Polled   int            `json:"polled,omitempty"`
}

// A WatchVerdict is what a host says of a resource.
type WatchVerdict struct {
	Index   int           `json:"index"` // of its entry
	Verdict watch.Verdict `json:"verdict"`
	Because string        `json:"because,omitempty"` // what makes it uncertain, as messages about others call it
}

// WatchMended is how an order was carried out.
type WatchMended struct {
	Order  int          `json:"order"`
	Failed []Unmended   `json:"failed,omitempty"`
	Found  []WatchFound `json:"found,omitempty"`
}

// WatchFound is a resource that was mended besides those of the order, as it was before: it had drifted since the host was asked.
type WatchFound struct {
	Play    int           `json:"play"`
	Ref     string        `json:"ref"`
	Verdict watch.Verdict `json:"verdict"`
}

// Unmended is why a resource was not mended.
type Unmended struct {
	Play  int    `json:"play"`
	Ref   string `json:"ref"`
	Error string `json:"error"`
	// Unknown says that a command of it began, and its end was not seen.
	Unknown bool `json:"unknown,omitempty"`
}

// WatchLost is why a host is not watched, and after which time it is tried again; 0 is not known. Refused says that it did not let the
// worker in, and Since when it was last heard of, if that is known.
type WatchLost struct {
	Failure events.Carried `json:"failure"`
	Wait    time.Duration  `json:"wait,omitempty"`
	Refused bool           `json:"refused,omitempty"`
	Since   time.Time      `json:"since,omitzero"`
}

// A WatchOrder has plays of a host repaired.
type WatchOrder struct {
	Number int           `json:"number"`
	Plays  []WatchRepair `json:"plays"`
}

// A WatchRepair says for which resources a play is to be repaired, and which others are to be left alone.
type WatchRepair struct {
	Play int      `json:"play"` // from 1
	Refs []string `json:"refs"`
	Held []string `json:"held,omitempty"`
}

// of is what is to be done about a play; nil is nothing.
func (o *WatchOrder) of(play int) *WatchRepair {
	i := slices.IndexFunc(o.Plays, func(r WatchRepair) bool { return r.Play == play })
	if i < 0 {
		return nil
	}
	return &o.Plays[i]
}

// play is what is to be done about a play, which is nothing at first.
func (o *WatchOrder) play(number int) *WatchRepair {
	if o.of(number) == nil {
		o.Plays = append(o.Plays, WatchRepair{Play: number})
	}
	return o.of(number)
}

// keys are the resources that are to be mended on a host.
func (o *WatchOrder) keys(host string) (keys []watch.Key) {
	for _, r := range o.Plays {
		for _, ref := range r.Refs {
			keys = append(keys, watch.Key{Host: host, Play: r.Play, Ref: ref})
		}
	}
	return keys
}

// failed is that nothing of the order was carried out.
func (o *WatchOrder) failed(why string) (all []Unmended) {
	for _, k := range o.keys("") {
		all = append(all, Unmended{Play: k.Play, Ref: k.Ref, Error: why})
	}
	return all
}

// hostNews is what a host says, here.
type hostNews struct {
	host *watchedHost
	WatchNews
}

// stoodWith are the entries of a play, and those results that say more than that all is well.
func stoodWith(entries []watchedEntry, results []*wire.Result) *WatchStood {
	s := &WatchStood{Entries: entries}
	for _, r := range results {
		s.Verdicts = append(s.Verdicts, entries[r.Index].verdictOf(r, nil))
	}
	return s
}

// toldBy is what a host program tells of the entries of a play.
func toldBy(m *wire.Watched, entries []watchedEntry) *WatchTold {
	t := &WatchTold{Heard: m.Heard, Polled: len(m.Polled)}
	for _, r := range m.Results {
		var writer *wire.Writer
		if i := slices.IndexFunc(m.Writers, func(one wire.Writer) bool { return one.Index == r.Index }); i >= 0 {
			writer = &m.Writers[i]
		}
		t.Verdicts = append(t.Verdicts, entries[r.Index].verdictOf(r, writer))
	}
	return t
}

// portableStood has each of the rules once, since most entries have the same.
type portableStood struct {
	Entries  []watchedEntry `json:"entries"`
	Rules    []*watch.Rules `json:"rules"`
	Ruled    []int          `json:"ruled"` // for each entry, by which of them
	Verdicts []WatchVerdict `json:"verdicts,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (s *WatchStood) MarshalJSON() ([]byte, error) {
	p := portableStood{Entries: s.Entries, Verdicts: s.Verdicts, Ruled: make([]int, len(s.Entries))}
	number := map[*watch.Rules]int{}
	for i := range s.Entries {
		rules := s.Entries[i].Rules
		if _, known := number[rules]; !known {
			number[rules] = len(p.Rules)
			p.Rules = append(p.Rules, rules)
		}
		p.Ruled[i] = number[rules]
	}
	return json.Marshal(p)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *WatchStood) UnmarshalJSON(text []byte) error {
	var p portableStood
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	for i := range p.Entries {
		if i >= len(p.Ruled) || p.Ruled[i] < 0 || p.Ruled[i] >= len(p.Rules) || p.Rules[p.Ruled[i]] == nil {
			return errors.New("an entry under watch has no rules")
		}
		p.Entries[i].Rules = p.Rules[p.Ruled[i]]
	}
	*s = WatchStood{Entries: p.Entries, Verdicts: p.Verdicts}
	return nil
}
