package yamlpos

import (
	"bytes"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// An Opener opens values in files that only the operator's keys or programs can open. A file is read with one by
// [KeepSealed]. It may be used by many goroutines at once, and none of its methods takes a context: a value is opened
// once for all callers that need it, so it cannot end with the first of them.
type Opener interface {
	// Seals reports whether it can open values encrypted under a tag, such as !vault.
	Seals(tag string) bool
	// Check reports errors in the form of a sealed value, without opening it.
	Check(n *Node) error
	// Value opens a value; see [Node.Sealed].
	Value(n *Node) (string, error)
	// File opens a file that is encrypted as a whole. Other files are returned unchanged, with sealed false.
	File(name string, data []byte) (text []byte, sealed bool, err error)
}

// Sealed opens a scalar whose text is not its value.
type Sealed struct {
	Tag string // !vault, say; [ByProgram] for a value that a program prints
	// Path leads to the value in its file, and Source is the text of that, which is not changed. A
	// value that is copied by an alias has the path of its anchor. They are empty for a value of
	// Ansible's JSON.
	Path   Path
	Source []byte
	// Program is the map below secret: with the program that prints the value; nil for any other.
	Program *Node

	by     Opener
	once   sync.Once
	opened atomic.Bool
	text   string
	err    error
}

// ByProgram is the tag of values that are written {secret: {cmd: [PROGRAM, ARGUMENT…]}}.
const ByProgram = "secret"

// KeepSealed reads files that are encrypted as a whole, whose scalars are then marked as
// [Node.Secret], and keeps single values closed until [Node.Open]. Without an opener what
// ansible-vault has encrypted is kept too, and cannot be opened.
func KeepSealed(by Opener) ParseOption {
	return func(c *converter) { c.keepSealed, c.opener, c.wholeFiles = true, by, true }
}

// KeepSealedValues is [KeepSealed] for a file that is not secret itself: one that is encrypted as a whole is refused.
func KeepSealedValues(by Opener) ParseOption {
	return func(c *converter) { c.keepSealed, c.opener = true, by }
}

// text returns the text of the file, which may be encrypted.
func (c *converter) text(data []byte) ([]byte, error) {
	by := c.opener
	if !c.wholeFiles {
		by = nil
	}
	text, sealed, err := Opened(by, c.file, data)
	c.allSecret, c.source = sealed, text
	return text, err
}

// Open returns the value of a sealed node, which is opened when it is first needed.
func (n *Node) Open() (string, error) {
	s := n.Sealed
	if s.by == nil {
		return "", n.EncryptedErrorf("the value is encrypted by ansible-vault")
	}
	s.once.Do(func() {
		s.text, s.err = s.by.Value(n)
		s.opened.Store(true)
	})
	return s.text, s.err
}

// CanOpen reports whether there is an opener for a sealed node.
func (n *Node) CanOpen() bool { return n.Sealed != nil && n.Sealed.by != nil }

// SealedAs is n as a text that is encrypted under a tag; by may be nil.
func (n *Node) SealedAs(tag string, by Opener) *Node {
	sealed := *n
	sealed.Sealed, sealed.Secret = &Sealed{Tag: tag, by: by}, true
	return &sealed
}

// Opened returns the text of a file that may be encrypted as a whole. If by is nil, encrypted files are refused.
func Opened(by Opener, file string, data []byte) (text []byte, sealed bool, err error) {
	if by != nil {
		return by.File(file, data)
	}
	if err := CheckSealed(file, data); err != nil {
		return nil, false, err
	}
	return data, false, nil
}

// CheckSealed refuses a file that is encrypted as a whole, whatever format is below.
func CheckSealed(file string, data []byte) *Error {
	at := &Node{File: file, Line: 1, Column: 1}
	if bytes.HasPrefix(data, []byte("$ANSIBLE_VAULT;")) {
		return at.Errorf("decrypt the file with ansible-vault decrypt; only files of variables may be encrypted as a whole", "the file is encrypted by ansible-vault")
	}
	for _, header := range []string{"age-encryption.org/", "-----BEGIN AGE ENCRYPTED FILE-----"} {
		if bytes.HasPrefix(data, []byte(header)) {
			return at.Errorf("encrypt files of variables, and name their values here", "the file is encrypted by age, and not read here")
		}
	}
	return nil
}

// EncryptedErrorf is Errorf for values encrypted by ansible-vault in places where they are not supported.
func (n *Node) EncryptedErrorf(format string, args ...any) *Error {
	return n.Errorf(vaultHint, format, args...)
}

const vaultHint = "write the value unencrypted; encrypted values work only in data, overrides, vars_files, files of -e and --hiera, and inventory variables"

// sealed makes a text that is encrypted under a tag of out.
func (c *converter) sealed(out *Node, tag string) {
	out.Quoted = true
	c.seal(out, &Sealed{Tag: tag})
}

// program makes a sealed scalar of a map that names the program which prints the value.
func (c *converter) program(out *Node) {
	if c.opener == nil || !c.secrets || len(out.Pairs) != 1 || out.Pairs[0].Key.Text != ByProgram {
		return
	}
	body := out.Pairs[0].Value
	if body.Get("cmd") == nil {
		return
	}
	out.Kind, out.Pairs, out.Quoted, out.Value = Scalar, nil, true, ""
	c.seal(out, &Sealed{Tag: ByProgram, Program: body})
}

func (c *converter) seal(out *Node, s *Sealed) {
	s.Path, s.Source, s.by = Path{c.path.Document, slices.Clone(c.path.Steps)}, c.source, c.opener
	out.Sealed = s
	if c.opener != nil {
		c.errs.Add(c.opener.Check(out))
	}
}

// seals reports whether scalars with a tag are kept closed.
func (c *converter) seals(tag string) bool {
	if !c.keepSealed {
		return false
	}
	return isVault(tag) || c.opener != nil && c.opener.Seals(tag)
}

// OpenAll opens several sealed nodes on all processors, for [Node.Open] to have them at hand.
func OpenAll(nodes []*Node) {
	nodes = slices.DeleteFunc(nodes, func(n *Node) bool { return n.Sealed.opened.Load() })
	if len(nodes) == 0 {
		return
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, n := range nodes {
		g.Go(func() error {
			_, _ = n.Open() // errors are reported when the value is used
			return nil
		})
	}
	_ = g.Wait() // which never fails
}
