package notes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// maxSubject bounds what a resource is about, in bytes.
const maxSubject = 8 << 10

// A Reversal records the state before a resource was first applied.
type Reversal struct {
	Play      string    `json:"play"` // as [wire.Remember] has it
	Type      string    `json:"type"`
	Name      string    `json:"name"`
	Subject   string    `json:"subject"`         // its subject, see [modules.Reverser]
	Place     string    `json:"place,omitempty"` // the path of Subject, without symbolic links of directories
	Sensitive bool      `json:"sensitive,omitempty"`
	Run       string    `json:"run,omitempty"` // run that applied it
	Time      time.Time `json:"time,omitzero"`
	// Properties belong to a resource of that type and name that restores the former state.
	Properties json.RawMessage `json:"properties"`
}

// Ref returns the resource as type#name.
func (v *Reversal) Ref() string { return v.Type + "#" + v.Name }

// of reports whether it belongs to a resource.
func (v *Reversal) of(play, typ, name string) bool {
	return v.Play == play && v.Type == typ && v.Name == name
}

// reversalText is the document of reversals, in the order in which resources were applied.
type reversalText struct {
	Reversals []Reversal `json:"reversals"`
}

func (all *reversalText) valid() error {
	if len(all.Reversals) > wire.MaxReversals {
		return fmt.Errorf("it has more than %d resources", wire.MaxReversals)
	}
	seen := map[[3]string]bool{}
	for i, v := range all.Reversals {
		key := [3]string{v.Play, v.Type, v.Name}
		if wire.CheckRememberedAs(v.Play) != nil || !(wire.Reversal{Type: v.Type, Name: v.Name}).Valid() ||
			len(v.Run) > maxName || len(v.Subject) > maxSubject || !bytes.HasPrefix(v.Properties, []byte("{")) || seen[key] {
			return fmt.Errorf("resource %d is not valid", i+1)
		}
		seen[key] = true
	}
	return nil
}

// formatReversals returns the text of a document of reversals, or nil.
func formatReversals(all []Reversal) ([]byte, error) {
	if len(all) == 0 {
		return nil, nil
	}
	if len(all) > wire.MaxReversals {
		return nil, fmt.Errorf("it would be more than %d resources", wire.MaxReversals)
	}
	text, err := format(&reversalText{all})
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("the records would have more than %d bytes", maxText)
	}
	return text, err
}

// Reversals are the states before the resources of plays were first applied.
type Reversals struct {
	store Store
	cat   *wire.Catalog
	all   []Reversal // reversals of all plays, in the order of their recording
	err   error      // why nothing can be reported or recorded
}

// errNoStore is why nothing is remembered where no host is.
var errNoStore = errors.New("nothing is remembered here")

// OpenReversals reads the notes, if the catalog has use for them. warning is for the user.
func OpenReversals(store Store, cat *wire.Catalog) (r *Reversals, warning string) {
	r = &Reversals{store: store, cat: cat}
	if cat.Remember == nil || cat.Monitor {
		return r, ""
	}
	if r.err = wire.CheckRememberedAs(cat.Remember.As); r.err == nil && store == nil {
		r.err = errNoStore
	}
	if r.err != nil {
		return r, ""
	}
	var text reversalText
	if r.err = read(store, &text); r.err != nil {
		return r, fmt.Sprintf("the record of former states cannot be read, so nothing is undone: %v", r.err)
	}
	r.all = text.Reversals
	return r, ""
}

// Undoes reports whether the catalog, when it ends, undoes resources that have left the manifest.
func (r *Reversals) Undoes() bool {
	return r.cat.Remember != nil && r.cat.Remember.Whole && r.err == nil && !r.cat.Monitor
}

// May returns why an entry cannot be recorded.
func (r *Reversals) May(e *wire.Entry) error {
	switch {
	case r.cat.Remember == nil:
		return errors.New("the play has no name that the host could remember it by")
	case r.err != nil:
		return r.err
	}
	return wire.CheckReversalName(e.Name)
}

// New is the note of an entry of the catalog, still without properties.
func (r *Reversals) New(e *wire.Entry, subject string, now time.Time) (*Reversal, error) {
	if len(subject) > maxSubject {
		return nil, modules.Refuse("its properties are too long to be recorded")
	}
	v := &Reversal{Play: r.cat.Remember.As, Type: e.Type, Name: e.Name, Subject: subject, Time: now.UTC()}
	if r.cat.Lock != nil {
		v.Run = Clip(strings.ToValidUTF8(r.cat.Lock.Run, "\uFFFD"), maxName)
	}
	return v, nil
}

// Of returns the record of an entry of the catalog, or nil.
func (r *Reversals) Of(e *wire.Entry) *Reversal {
	if i := r.find(e); i >= 0 {
		return &r.all[i]
	}
	return nil
}

func (r *Reversals) find(e *wire.Entry) int {
	return slices.IndexFunc(r.all, func(v Reversal) bool { return v.of(r.cat.Remember.As, e.Type, e.Name) })
}

// Note adds the state before an entry, or updates its record. v is nil if only sensitive may be new. A predicted record
// is not written; later entries see it, except if it belongs to a noop entry.
func (r *Reversals) Note(e *wire.Entry, v *Reversal, sensitive bool) error {
	all, at := slices.Clone(r.all), r.find(e)
	switch {
	case at < 0 && v != nil:
		all = append(all, *v)
	case at >= 0 && v != nil:
		all[at].Properties, all[at].Subject, all[at].Sensitive = v.Properties, v.Subject, all[at].Sensitive || v.Sensitive
	case at >= 0 && sensitive && !all[at].Sensitive:
		all[at].Sensitive = true
	default:
		return nil
	}
	if !r.cat.Check && !e.Check {
		return r.save(all)
	}
	if _, err := formatReversals(all); err != nil {
		return err
	}
	if r.cat.Check && !e.Check {
		r.all = all // as it will be
	}
	return r.store.MayWrite()
}

// Hide marks records whose resources have become sensitive: their diffs are not shown.
func (r *Reversals) Hide(sensitive map[string]bool) error {
	if r.cat.Remember == nil || r.err != nil || len(r.all) == 0 || r.cat.Monitor {
		return nil
	}
	all, news := slices.Clone(r.all), false
	for i := range all {
		if v := &all[i]; v.Play == r.cat.Remember.As && !v.Sensitive && sensitive[v.Ref()] {
			v.Sensitive, news = true, true
		}
	}
	if !news || r.cat.Check {
		return nil
	}
	return r.save(all)
}

// here returns the resources that the play still has, as type#name, and whether an applied one can still be undone, or
// must not be applied now.
func (r *Reversals) here() map[string]bool {
	here := map[string]bool{}
	for _, ref := range r.cat.Remember.Kept {
		here[ref] = true
	}
	for i := range r.cat.Entries {
		e := &r.cat.Entries[i]
		ref := e.Type + "#" + e.Name
		here[ref] = here[ref] || e.Reverse || e.Excluded || len(e.Awaits) > 0
	}
	return here
}

// Gone returns the records of resources that have left the manifest, the last applied first.
func (r *Reversals) Gone() []Reversal {
	here := r.here()
	var all []Reversal
	for _, v := range slices.Backward(r.all) {
		if _, there := here[v.Ref()]; v.Play == r.cat.Remember.As && !there {
			all = append(all, v)
		}
	}
	return all
}

// Forget drops the notes of resources that are there and say reverse no more.
func (r *Reversals) Forget() error {
	here := r.here()
	return r.drop(func(v Reversal) bool {
		keeps, there := here[v.Ref()]
		return v.Play == r.cat.Remember.As && there && !keeps
	})
}

// Drop drops the note of a resource.
func (r *Reversals) Drop(of Reversal) error {
	return r.drop(func(v Reversal) bool { return v.of(of.Play, of.Type, of.Name) })
}

// drop removes records, and writes the others if any was removed.
func (r *Reversals) drop(is func(Reversal) bool) error {
	all := slices.DeleteFunc(slices.Clone(r.all), is)
	if len(all) == len(r.all) {
		return nil
	}
	return r.save(all)
}

// save replaces all records of the host, or after an error none.
func (r *Reversals) save(all []Reversal) error {
	text, err := formatReversals(all)
	if err == nil {
		err = r.store.Replace(text)
	}
	if err == nil {
		r.all = all
	}
	return err
}
