package watching

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

// News and orders may go to another machine, where a worker watches the host.

// News is a message from a watched host. One of the fields after Play is set.
type News struct {
	Play   int     `json:"play,omitempty"` // number of the play in the run, from 1
	Stood  *Stood  `json:"stood,omitempty"`
	Told   *Told   `json:"told,omitempty"`
	Mended *Mended `json:"mended,omitempty"`
	Lost   *Lost   `json:"lost,omitempty"`
}

// Stood is the first state of a play under watch. Resources without a verdict have their desired state.
type Stood struct {
	Entries  []Entry
	Verdicts []Verdict
}

// Told lists later changes. With Heard the host now listens to all resources of the play except Polled ones. Without
// Heard, Polled counts further resources that are only checked from time to time.
type Told struct {
	Verdicts []Verdict `json:"verdicts,omitempty"`
	Heard    bool      `json:"heard,omitempty"`
	Polled   int       `json:"polled,omitempty"`
}

// A Verdict is a report of a host about a resource.
type Verdict struct {
	Index   int           `json:"index"` // index of its entry
	Verdict watch.Verdict `json:"verdict"`
	Because string        `json:"because,omitempty"` // resource that makes it uncertain, as messages about others call it
}

// Mended reports the end of an order.
type Mended struct {
	Order  int        `json:"order"`
	Failed []Unmended `json:"failed,omitempty"`
	Found  []Found    `json:"found,omitempty"`
}

// Found is another resource that the order repaired, with its state before: it had drifted after the last check of the host.
type Found struct {
	Play    int           `json:"play"`
	Ref     string        `json:"ref"`
	Verdict watch.Verdict `json:"verdict"`
}

// Unmended is a resource that was not repaired, with the reason.
type Unmended struct {
	Play  int    `json:"play"`
	Ref   string `json:"ref"`
	Error string `json:"error"`
	// Unknown means that its command began, and its end is not known.
	Unknown bool `json:"unknown,omitempty"`
}

// Lost is the reason why a host is not watched. Wait is the time until the next attempt; 0 is not known. With Refused the host did
// not let the worker log in. Since is the time of its last message, if that is known.
type Lost struct {
	Failure events.Carried `json:"failure"`
	Wait    time.Duration  `json:"wait,omitempty"`
	Refused bool           `json:"refused,omitempty"`
	Since   time.Time      `json:"since,omitzero"`
}

// An Order repairs plays of a host.
type Order struct {
	Number int      `json:"number"`
	Plays  []Repair `json:"plays"`
}

// A Repair lists the resources of a play to repair, and in Held the resources that must not change.
type Repair struct {
	Play int      `json:"play"` // from 1
	Refs []string `json:"refs"`
	Held []string `json:"held,omitempty"`
}

// For returns the repair of a play, by its number from 1, or nil.
func (o *Order) For(play int) *Repair {
	i := slices.IndexFunc(o.Plays, func(r Repair) bool { return r.Play == play })
	if i < 0 {
		return nil
	}
	return &o.Plays[i]
}

// play returns the repair of a play, and adds a missing one.
func (o *Order) play(number int) *Repair {
	if o.For(number) == nil {
		o.Plays = append(o.Plays, Repair{Play: number})
	}
	return o.For(number)
}

// keys returns the resources that the order repairs on a host.
func (o *Order) keys(host string) (keys []watch.Key) {
	for _, r := range o.Plays {
		for _, ref := range r.Refs {
			keys = append(keys, watch.Key{Host: host, Play: r.Play, Ref: ref})
		}
	}
	return keys
}

// failed returns all resources of the order as not repaired.
func (o *Order) failed(why string) (all []Unmended) {
	for _, k := range o.keys("") {
		all = append(all, Unmended{Play: k.Play, Ref: k.Ref, Error: why})
	}
	return all
}

// hostNews are news with their host.
type hostNews struct {
	host *watchedHost
	News
}

// portableStood holds each of the rules once, since most entries have the same.
type portableStood struct {
	Entries  []Entry        `json:"entries"`
	Rules    []*watch.Rules `json:"rules"`
	Ruled    []int          `json:"ruled"` // index of its rules, by entry
	Verdicts []Verdict      `json:"verdicts,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (s *Stood) MarshalJSON() ([]byte, error) {
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
func (s *Stood) UnmarshalJSON(text []byte) error {
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
	*s = Stood{Entries: p.Entries, Verdicts: p.Verdicts}
	return nil
}

// Mask removes secrets from the news.
func (n *News) Mask(m *secret.Mask) {
	var verdicts []Verdict
	switch {
	case n.Stood != nil:
		verdicts = n.Stood.Verdicts
	case n.Told != nil:
		verdicts = n.Told.Verdicts
	case n.Mended != nil:
		for i := range n.Mended.Failed {
			n.Mended.Failed[i].Error = m.Text(n.Mended.Failed[i].Error)
		}
		for i := range n.Mended.Found {
			maskVerdict(&n.Mended.Found[i].Verdict, m)
		}
	}
	for i := range verdicts {
		maskVerdict(&verdicts[i].Verdict, m)
	}
}

func maskVerdict(v *watch.Verdict, m *secret.Mask) {
	v.Message, v.Error = m.Text(v.Message), m.Text(v.Error)
	for i := range v.Changes {
		c := &v.Changes[i]
		c.From, c.To = m.Text(c.From), m.Text(c.To)
	}
}
