package sealed

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Scheme is one way to encrypt values and files. It may be used by many goroutines at once.
type Scheme interface {
	// Tags lists the tags of the scalars that it opens, such as !vault.
	Tags() []string
	// Check reports errors in the form of a sealed value, without a key.
	Check(n *yamlpos.Node) error
	// Open returns the value of a sealed scalar. It is called at most once for each.
	Open(n *yamlpos.Node) (string, error)
	// IsFile reports whether a file is encrypted as a whole, by how it begins.
	IsFile(data []byte) bool
	// OpenFile returns the text of such a file. name is its name in errors.
	OpenFile(name string, data []byte) ([]byte, error)
}

// Closed replaces a value that stays closed.
const Closed = "[secret]"

// A Locker is a [Scheme] that opens its values without a prompt, if it has a key at all.
type Locker interface{ Locked() bool }

// A Ring opens what one of its schemes knows. It implements [yamlpos.Opener].
type Ring struct {
	Schemes []Scheme
	// Opened is called with each opened value, before the caller receives the value; it may be nil.
	Opened func(text string)
	// Closed replaces values by [Closed], unless their scheme is a [Locker] that has a key. It is for commands that
	// only show files: they do not prompt and run no program.
	Closed bool
	// NoPrograms is the reason why files that are read with this ring may not name programs; "" allows programs. See
	// [Ring.Foreign].
	NoPrograms string
}

// Foreign returns a ring for files that others have written: their programs are not run.
func (r *Ring) Foreign(why string) *Ring {
	if r == nil {
		return nil
	}
	foreign := *r
	foreign.NoPrograms = why
	return &foreign
}

// Opener returns the ring for readers of files; nil if r is nil.
func (r *Ring) Opener() yamlpos.Opener {
	if r == nil {
		return nil // and not an interface that holds it
	}
	return r
}

// Seals implements [yamlpos.Opener].
func (r *Ring) Seals(tag string) bool { return r.scheme(tag) != nil }

func (r *Ring) scheme(tag string) Scheme {
	for _, s := range r.Schemes {
		for _, known := range s.Tags() {
			if known == tag {
				return s
			}
		}
	}
	return nil
}

// Check implements [yamlpos.Opener].
func (r *Ring) Check(n *yamlpos.Node) error {
	s := r.scheme(n.Sealed.Tag)
	switch {
	case s == nil:
		return n.Errorf("", "nothing opens %s here", n.Sealed.Tag)
	case n.Sealed.Program != nil && r.NoPrograms != "":
		return n.Errorf("name programs only in local files of your own", "a program is not allowed here, because %s", r.NoPrograms)
	}
	return s.Check(n)
}

// Value implements [yamlpos.Opener].
func (r *Ring) Value(n *yamlpos.Node) (string, error) {
	if err := r.Check(n); err != nil {
		return "", err
	}
	s := r.scheme(n.Sealed.Tag)
	if locker, can := s.(Locker); r.Closed && (!can || locker.Locked()) {
		return Closed, nil
	}
	text, err := s.Open(n)
	if err == nil && r.Opened != nil {
		r.Opened(text)
	}
	return text, err
}

// File implements [yamlpos.Opener].
func (r *Ring) File(name string, data []byte) (text []byte, sealed bool, err error) {
	for _, s := range r.Schemes {
		if s.IsFile(data) {
			text, err := s.OpenFile(name, data)
			return text, true, err
		}
	}
	if err := yamlpos.CheckSealed(name, data); err != nil {
		return nil, false, err
	}
	return data, false, nil
}
