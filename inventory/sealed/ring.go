package sealed

import (
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Scheme is one way to encrypt values and files. It may be used by many goroutines at once.
type Scheme interface {
	// Tags are those of the scalars that it opens, such as !vault.
	Tags() []string
	// Check says what is wrong with a sealed value as it is written, without a key.
	Check(n *yamlpos.Node) error
	// Open gives the value of a sealed scalar. It is called at most once for each.
	Open(n *yamlpos.Node) (string, error)
	// IsFile reports whether a file is encrypted as a whole, by how it begins.
	IsFile(data []byte) bool
	// OpenFile gives the text of such a file. name is what errors call it.
	OpenFile(name string, data []byte) ([]byte, error)
}

// Closed stands in the place of a value that stays closed.
const Closed = "[secret]"

// A Locker is a [Scheme] that opens what it can without asking anybody, if it has a key at all.
type Locker interface{ Locked() bool }

// A Ring opens what one of its schemes knows. It implements [yamlpos.Opener].
type Ring struct {
	Schemes []Scheme
	// Opened is told each value that has been opened, before who wanted it has it; nil is told
	// nothing.
	Opened func(text string)
	// Closed has [Closed] stand in the place of values, unless their scheme is a [Locker] that has
	// been given a key: for a command which only looks at what is written, asks nobody and runs
	// no program.
	Closed bool
	// NoPrograms says why files that are read with this ring name no programs; "" lets them.
	// See [Ring.Foreign].
	NoPrograms string
}

// Foreign is a ring for files that others have written: what they say is not run.
func (r *Ring) Foreign(why string) *Ring {
	if r == nil {
		return nil
	}
	foreign := *r
	foreign.NoPrograms = why
	return &foreign
}

// Opener is the ring for those who read files; nil for none.
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
		return n.Errorf("name programs in files of your own", "a program is named here, and %s", r.NoPrograms)
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
