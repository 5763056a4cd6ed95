package project

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/ccm-push/ccm-push/inventory/sealed/agefile"
	"github.com/ccm-push/ccm-push/inventory/sealed/identity"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A Scheme opens values with !age and files that age has encrypted as a whole, for readers of files. It implements
// sealed.Scheme. The key of a file is unwrapped when the first of its values is used, once.
type Scheme struct {
	Keys *identity.Keys

	mu    sync.Mutex
	files map[source]*unlocked
}

// A source is a text with values. It is the same for all values of one reading.
type source struct {
	name  string
	start *byte
}

// An unlocked file is one whose key is known, or why not.
type unlocked struct {
	once sync.Once
	file *agefile.File
	err  error
}

// Tags implements sealed.Scheme.
func (s *Scheme) Tags() []string { return []string{agefile.Tag} }

// Check implements sealed.Scheme.
func (s *Scheme) Check(n *yamlpos.Node) error {
	if err := agefile.CheckValue(n.Text); err != nil {
		return n.Errorf("mark a value in clear as !secret, and encrypt it: ccm-push secret encrypt "+n.File, "%v", err)
	}
	return nil
}

// Open implements sealed.Scheme.
func (s *Scheme) Open(n *yamlpos.Node) (string, error) {
	if len(n.Sealed.Source) == 0 {
		return "", n.Errorf("", "%s is in a place where nothing is encrypted", agefile.Tag)
	}
	u := s.unlocked(n)
	u.once.Do(func() { u.file, u.err = s.unlock(n) })
	if u.err != nil {
		return "", u.err
	}
	return u.file.ValueAt(n.Sealed.Path, n.Text, n.Line, n.Column)
}

func (s *Scheme) unlocked(n *yamlpos.Node) *unlocked {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := source{n.File, &n.Sealed.Source[0]}
	if s.files == nil {
		s.files = map[source]*unlocked{}
	}
	if s.files[at] == nil {
		s.files[at] = &unlocked{}
	}
	return s.files[at]
}

// unlock opens the key of the file that contains a value.
func (s *Scheme) unlock(n *yamlpos.Node) (*agefile.File, error) {
	path, err := placeOf(n.File)
	if err != nil {
		return nil, n.Errorf("an encrypted value belongs to one file of one project: use it only there, at the same path below the folder of .ccm-secrets.yaml", "%v", err)
	}
	file, err := agefile.Read(n.File, path, n.Sealed.Source)
	if err != nil {
		return nil, err
	}
	if err := file.Moved(); err != nil {
		return nil, err
	}
	identities, err := s.Keys.All()
	if err != nil {
		return nil, err
	}
	return file, NoKey(n.File, file.Header.Line, file.Header.Names(), s.Keys, file.Unlock(identities))
}

// placeOf returns the path of a file from the root of its project.
func placeOf(name string) (string, error) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a file of a project", name)
	}
	root, err := rootOf(name)
	if err != nil {
		return "", ErrNone
	}
	if err := recoverIn(root, disk{}); err != nil {
		return "", err
	}
	return (&Project{Root: root}).path(filepath.Clean(name))
}

// IsFile implements sealed.Scheme.
func (s *Scheme) IsFile(data []byte) bool { return agefile.IsWhole(data) }

// OpenFile implements sealed.Scheme.
func (s *Scheme) OpenFile(name string, data []byte) ([]byte, error) {
	identities, err := s.Keys.All()
	if err != nil {
		return nil, err
	}
	text, err := agefile.DecryptWhole(data, identities)
	var names []string
	if err != nil { // its path determines who can read it
		if d, err := Open(name); err == nil && d.Whole {
			names = d.whoCan()
		}
	}
	return text, NoKey(name, 1, names, s.Keys, err)
}
