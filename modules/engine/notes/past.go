package notes

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/before"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A PastStore keeps the states before changes of runs on a host: a log for each run, and contents that the runs share.
// *system.Past is one. Goroutines may use it concurrently.
type PastStore interface {
	before.Contents
	// Read returns the log of a run, or nil.
	Read(run string) ([]byte, error)
	// Append adds lines to the log of a run. Durable ones, and the lines and contents before
	// them, outlive a crash of the host. With the first ones of a run it may drop older runs.
	Append(run string, lines []byte, durable bool) error
}

// A Past holds the states before the changes of a run, so that the run can be undone.
type Past struct {
	mu      sync.Mutex
	store   PastStore
	header  pastHeader
	changes []*Change
	begun   bool
	first   int // first change that a continued try still makes
	size    int // size of the log, in bytes
	last    lineSum
	damage  string // damage of the log after changes, or ""
	cut     bool   // the damage is only a last line without an end
}

// A lineSum is the checksum of a line and all before it.
type lineSum [sha256.Size]byte

// next returns the checksum of the line after s.
func (s lineSum) next(line []byte) lineSum { return sha256.Sum256(append(s[:], line...)) }

// sumDigits is the number of hexadecimal digits of the checksum at the end of a line, after a blank.
const sumDigits = 16

func (s lineSum) text() string { return hex.EncodeToString(s[:])[:sumDigits] }

// A Change is a resource that a run has changed, or refreshed.
type Change struct {
	Number    int    `json:"n"` // in the run
	Play      int    `json:"play"`
	Type      string `json:"type"`
	Name      string `json:"name"`
	Alias     string `json:"alias,omitempty"`
	Sensitive bool   `json:"sensitive,omitempty"`
	// Properties belong to the resource; Reversal to a resource that restores the former state, unless paths are
	// restored one by one.
	Properties json.RawMessage `json:"properties,omitempty"`
	Reversal   json.RawMessage `json:"reversal,omitempty"`
	Subject    string          `json:"subject,omitempty"` // and Place: as in [Reversal]
	Place      string          `json:"place,omitempty"`
	// Cannot explains why the change cannot be reverted; "" if it can, or if the resource was only refreshed.
	Cannot string `json:"cannot,omitempty"`
	// Before has the former states of the changed paths.
	Before []before.Node `json:"-"`
	// Refreshes are the resources that it is being refreshed by, until it is known how that ended.
	Refreshes []string `json:"refreshes,omitempty"`
	// Was is the state of a service before the run, as ensure has it, if it was only refreshed.
	Was string `json:"was,omitempty"`
	// Units are the states of services, by name, that read the files of this change or subscribe to it.
	Units map[string]string `json:"units,omitempty"`
	// Undoes is the change of another run that this one takes back; nil if it does not.
	Undoes *Undoes `json:"undoes,omitempty"`
	// UndoneBy is the run that has taken it back; "" if none has, or that one was taken back too.
	UndoneBy string `json:"-"`
	// Left is the state that the run left; nil if it is unknown, since the program was killed.
	Left *Left `json:"-"`
}

// Left is the state in which a run left a resource.
type Left struct {
	// Changes are the changes that were still pending; none after a success.
	Changes []modules.Change `json:"changes,omitempty"`
	Paths   []before.Node    `json:"paths,omitempty"` // paths of Before
	// RefreshedBy are the resources that it was refreshed by.
	RefreshedBy []string `json:"refreshed_by,omitempty"`
}

// Ref returns the name of the resource in reports.
func (c *Change) Ref() string {
	if c.Alias != "" {
		return c.Type + "#" + c.Alias
	}
	return c.Type + "#" + c.Name
}

// Is reports whether the resource is called so.
func (c *Change) Is(ref string) bool { return ref == c.Ref() || ref == c.Type+"#"+c.Name }

// pastFormat is the format of the lines. Files of a newer host program are not read. Lines of the
// format 1 have no checksums.
const pastFormat = 2

// A pastLine is one line of the log, with one field set.
type pastLine struct {
	Begin  *pastHeader `json:"begin,omitempty"`
	Change *Change     `json:"change,omitempty"`
	Paths  *pastPaths  `json:"paths,omitempty"`
	Left   *pastLeft   `json:"left,omitempty"`
	Cannot *pastCannot `json:"cannot,omitempty"`
	Undone *pastUndone `json:"undone,omitempty"`
}

type pastHeader struct {
	Format int       `json:"format"`
	Run    string    `json:"run"`
	Holder string    `json:"holder"`
	Since  time.Time `json:"since"`
}

type pastPaths struct {
	Number int           `json:"n"`
	Nodes  []before.Node `json:"nodes"`
}

type pastLeft struct {
	Number int `json:"n"`
	Left
}

type pastCannot struct {
	Number int    `json:"n"`
	Why    string `json:"why"`
}

// Bounds of the log of a run.
const (
	maxPast    = 8 << 20 // bytes
	maxChanges = wire.MaxUndone
)

// CheckRun returns an error if run is not a run id: letters and digits.
func CheckRun(run string) error {
	if run == "" || len(run) > 64 || strings.ContainsFunc(run, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return fmt.Errorf("%.70q is not a run id", run)
	}
	return nil
}

// OpenPast opens the record of the run that holds a lock.
func OpenPast(store PastStore, lock *wire.Lock, now time.Time) (*Past, error) {
	p := &Past{store: store, header: pastHeader{pastFormat, lock.Run, Clip(strings.ToValidUTF8(lock.Holder, "\uFFFD"), maxName), now.UTC()}}
	err := CheckRun(lock.Run)
	if err == nil {
		err = p.read()
	}
	if err == nil && p.damage != "" && !p.cut { // a line without an end is replaced by the next one
		err = errors.New(p.damage)
	}
	return p, err
}

// ReadPast returns the changes of a run, in their order. Without changes there is nothing to undo. damage describes a
// fault in the record of later changes, or "".
func ReadPast(store PastStore, run string) (changes []*Change, damage string, err error) {
	p, err := readPast(store, run)
	if err != nil {
		return nil, "", err
	}
	return p.changes, p.damage, nil
}

func readPast(store PastStore, run string) (*Past, error) {
	p := &Past{store: store, header: pastHeader{Run: run}}
	err := CheckRun(run)
	if err == nil {
		err = p.read()
	}
	return p, err
}

func (p *Past) read() error {
	text, err := p.store.Read(p.header.Run)
	if err != nil {
		return err
	}
	p.begun, p.size = len(text) > 0, len(text)
	known := map[pathOf]bool{}
	number, format := 0, 0
	for line := range bytes.Lines(text) {
		if number++; line[len(line)-1] != '\n' { // the host has crashed during the write, or the file was truncated
			p.cut = true
			p.damaged(number, errors.New("it is cut off"))
			break
		}
		l, err := p.parse(line[:len(line)-1], format)
		if err == nil && number == 1 && l.Begin != nil {
			if format = l.Begin.Format; format > pastFormat {
				return fmt.Errorf("the record of run %s cannot be read: a newer ccm-push has written it in format %d", p.header.Run, format)
			}
			p.header.Format = format
		}
		if err == nil {
			err = p.add(l, known)
		}
		if err != nil {
			p.damaged(number, err)
			break
		}
	}
	return nil
}

// damaged notes that the log cannot be read from a line on.
func (p *Past) damaged(number int, err error) {
	p.damage = fmt.Sprintf("the record of run %s is damaged from line %d on (%v), so its later changes are unknown", p.header.Run, number, err)
}

// parse reads a line of the log without its end, and checks its checksum. The first line contains the format of all
// lines; its own is 0.
func (p *Past) parse(line []byte, format int) (*pastLine, error) {
	at := len(line) - sumDigits - 1
	if format != 1 && at > 0 && line[at] == ' ' {
		sum := p.last.next(line[:at])
		if string(line[at+1:]) != sum.text() {
			return nil, errors.New("its checksum does not match")
		}
		line, p.last = line[:at], sum
	} else if format > 1 {
		return nil, errors.New("it has no checksum")
	}
	var l pastLine
	err := json.Unmarshal(line, &l)
	return &l, err
}

// A pathOf is a path that a change has noted: the first that was noted of one counts.
type pathOf struct {
	number int
	path   string
}

func (p *Past) add(l *pastLine, known map[pathOf]bool) error {
	to := func(number int, add func(c *Change)) error {
		if number < 1 || number > len(p.changes) {
			return fmt.Errorf("unknown change %d", number)
		}
		add(p.changes[number-1])
		return nil
	}
	switch {
	case l.Change != nil:
		if l.Change.Number != len(p.changes)+1 || len(p.changes) == maxChanges {
			return fmt.Errorf("change %d follows change %d", l.Change.Number, len(p.changes))
		}
		p.changes = append(p.changes, l.Change)
	case l.Paths != nil:
		return to(l.Paths.Number, func(c *Change) {
			for _, n := range l.Paths.Nodes {
				if at := (pathOf{c.Number, n.Path}); !known[at] {
					known[at] = true
					c.Before = append(c.Before, n)
				}
			}
		})
	case l.Left != nil:
		return to(l.Left.Number, func(c *Change) { c.Left = &l.Left.Left })
	case l.Cannot != nil:
		return to(l.Cannot.Number, func(c *Change) { c.Cannot = l.Cannot.Why })
	case l.Undone != nil:
		return to(l.Undone.Number, func(c *Change) { c.UndoneBy = l.Undone.By })
	}
	return nil
}

// Begin records a change of a resource before it is made, or returns the record of an earlier try. Paths makes a record
// durable that is not durable yet.
func (p *Past) Begin(c Change, durable bool) (noted *Change, again bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range slices.Backward(p.changes[max(0, p.first-1):]) {
		if other.Play == c.Play && other.UndoneBy == "" && other.Type == c.Type && other.Name == c.Name {
			return other, true, nil
		}
	}
	if len(p.changes) == maxChanges {
		return nil, false, fmt.Errorf("a run has more than %d changes", maxChanges)
	}
	c.Number = len(p.changes) + 1
	if err := p.write(&pastLine{Change: &c}, durable); err != nil {
		return nil, false, err
	}
	p.changes = append(p.changes, &c)
	return &c, false, nil
}

// Unit returns the state of a service that was noted first in the run.
func (p *Past) Unit(name string) (state string, noted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.changes {
		if state, noted = c.Units[name]; noted {
			return state, true
		}
	}
	return "", false
}

// Next is the number that the next change will have.
func (p *Past) Next() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.changes) + 1
}

// Since returns the number of the first change that takes effect with a refresh by these resources. It is the earliest
// change of one of the resources, or of a resource that has refreshed one of them. Without such a change in this run,
// Since returns the number of the next change.
func (p *Past) Since(resources []string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, resources := len(p.changes)+1, slices.Clone(resources)
	for _, c := range slices.Backward(p.changes) {
		if slices.ContainsFunc(resources, c.Is) {
			first, resources = c.Number, append(resources, c.Refreshes...)
		}
	}
	return first
}

// Anew makes a resource with a change before the number first count as a new change if it changes again: the state in
// between is kept, too.
func (p *Past) Anew(first int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.first = min(first, len(p.changes)+1)
}

// Paths records the states of paths before a resource changes them, unless they are recorded already.
func (p *Past) Paths(c *Change, nodes []before.Node) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.Before = append(c.Before, nodes...)
	return p.write(&pastLine{Paths: &pastPaths{c.Number, nodes}}, true)
}

// Leaves records the state in which a resource is left. If the host crashes in that moment, it is unknown.
func (p *Past) Leaves(c *Change, left Left) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.Left = &left
	return p.write(&pastLine{Left: &pastLeft{c.Number, left}}, false)
}

// Cannot notes why a resource that was changed cannot be brought back.
func (p *Past) Cannot(c *Change, why string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.Cannot = why
	return p.write(&pastLine{Cannot: &pastCannot{c.Number, why}}, false)
}

// errPastFull reports that no more changes of a run are recorded.
var errPastFull = errors.New("more than can be kept of a run")

func (p *Past) write(l *pastLine, durable bool) error {
	lines := []*pastLine{l}
	if !p.begun {
		lines = []*pastLine{{Begin: &p.header}, l}
	}
	var text []byte
	last := p.last
	for _, l := range lines {
		line, err := json.Marshal(l)
		if err != nil {
			return err
		}
		text = append(text, line...)
		if p.header.Format > 1 {
			last = last.next(line)
			text = append(append(text, ' '), last.text()...)
		}
		text = append(text, '\n')
	}
	if p.size+len(text) > maxPast {
		return errPastFull
	}
	if err := p.store.Append(p.header.Run, text, durable); err != nil {
		return err
	}
	p.begun, p.size, p.last = true, p.size+len(text), last
	return nil
}
