package user

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// homeOfNew decides whether a new user gets a new home.
func (d *draft) homeOfNew() error {
	if d.CreateHome != nil && !*d.CreateHome {
		return nil
	}
	info, err := lookHome(d.h.Files, d.Name, d.after.Home)
	if err != nil {
		return err
	}
	if info.Kind == modules.Absent {
		d.newHome = true
		if err := homeless(d.h.Files, d.after.Home); err != nil {
			return err
		}
		if err := modules.MayFollow(d.h.Files.Stat, d.after.Home, os.Geteuid()); err != nil {
			return modules.Refuse("home: %w", err)
		}
		return nil
	}
	if info.UID != d.after.UID {
		d.h.Report.Message("warning", "home: "+d.after.Home+" already exists; its owner and its files stay unchanged")
	}
	return nil
}

// homeOfOld plans to make the home that a user lacks.
func (d *draft) homeOfOld() error {
	if d.CreateHome == nil || !*d.CreateHome {
		return nil
	}
	info, err := lookHome(d.h.Files, d.Name, d.after.Home)
	if err != nil || info.Kind != modules.Absent {
		return err
	}
	if err := homeless(d.h.Files, d.after.Home); err != nil {
		return err
	}
	if err := trusted(d.h.Files, path.Dir(d.after.Home), "home"); err != nil {
		return err
	}
	a := modules.Attributes{Mode: d.defaults.HomeMode, UID: d.after.UID, GID: d.after.GID}
	for _, err := range []error{d.h.Files.MayReplace(d.after.Home), d.h.Files.MayCreate(a)} {
		if err != nil {
			return modules.Refuse("home: %w", err)
		}
	}
	d.newHome = true
	d.differs("create_home", absent, present)
	d.predictHome()
	d.makeHome()
	return nil
}

// lookHome returns the info of the home of a user, links followed; Kind is Absent if it does not exist. It refuses a home that is
// not a directory.
func lookHome(files modules.FileReader, user, home string) (modules.FileInfo, error) {
	if !path.IsAbs(home) || path.Clean(home) != home {
		return modules.FileInfo{}, modules.Refuse("home: user %q has the home %q, which is not an absolute path", user, home)
	}
	info, err := modules.Follow(files, home)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := files.Stat(home); err == nil {
			return modules.FileInfo{}, modules.Refuse("home: %q is a symlink to nothing", home)
		}
		return modules.FileInfo{Kind: modules.Absent}, nil
	}
	if err == nil && info.Kind != modules.Directory {
		err = modules.Refuse("home: %q is not a directory", home)
	}
	return info, err
}

// homeless requires the parent directory of a new home.
func homeless(files modules.FileReader, home string) error {
	dir := path.Dir(home)
	info, err := modules.Follow(files, dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Kind != modules.Directory {
		return modules.Refuse("home: %q is not a directory; let an earlier file resource make it", dir)
	}
	return err
}

// Limits of the prediction of a new home: files, depth, and bytes of one file. A larger home is not predicted.
const (
	maxSkelFiles = 100
	maxSkelDepth = 8
	maxSkelSize  = 64 << 10
)

// predictHome adds the effects of making the home.
func (d *draft) predictHome() {
	s := newSkel(d.after)
	s.files, s.root = d.h.Files, d.defaults.Skel
	s.add(d.after.Home, modules.FileInfo{Kind: modules.Directory, Mode: d.defaults.HomeMode}, modules.Content{})
	if !s.copies(s.root, d.after.Home, 0) {
		s.effects = append(s.effects, modules.Anything)
	}
	d.Effects = append(d.Effects, s.effects...)
}

// skel collects the predicted files of a new home.
type skel struct {
	files   modules.FileReader
	root    string
	partial bool
	owner   modules.FileInfo // has the ids
	effects []modules.Effect
}

// newSkel returns an empty prediction of the files of a user. If the host will choose an id, a placeholder stands for it.
func newSkel(of accounts.PredictedUser) *skel {
	s := &skel{owner: modules.FileInfo{UID: of.UID, GID: of.GID}}
	if of.UID == accounts.Unknown {
		s.owner.UID = modules.PlaceholderID(of.Name)
	}
	if of.GID == accounts.Unknown {
		s.owner.GID, s.partial = modules.PlaceholderID(of.Primary), of.Primary == ""
	}
	return s
}

func (s *skel) add(name string, info modules.FileInfo, content modules.Content) {
	if s.partial {
		s.effects = append(s.effects, pathEffect(name, modules.PathState{FileInfo: modules.FileInfo{Kind: info.Kind}, Partial: true}))
		return
	}
	info.UID, info.GID = s.owner.UID, s.owner.GID
	s.effects = append(s.effects, pathEffect(name, modules.PathState{FileInfo: info, Content: content}))
}

// copies predicts a directory with all below it, and reports whether it could.
func (s *skel) copies(from, to string, depth int) bool {
	names, err := s.files.List(from)
	if errors.Is(err, fs.ErrNotExist) && depth == 0 {
		return true
	}
	if err != nil || depth > maxSkelDepth {
		return false
	}
	for _, name := range names {
		if !s.copy(path.Join(from, name), path.Join(to, name), depth) {
			return false
		}
	}
	return true
}

func (s *skel) copy(from, to string, depth int) bool {
	info, err := s.files.Stat(from)
	if err != nil || len(s.effects) > maxSkelFiles {
		return false
	}
	switch info.Kind {
	case modules.Directory:
		s.add(to, info, modules.Content{})
		return s.copies(from, to, depth+1)
	case modules.Regular:
		content, ok := s.content(from, info)
		s.add(to, info, content)
		return ok
	case modules.Symlink:
		s.links(to, info.Target)
		return !strings.HasPrefix(info.Target, s.root) // useradd redirects such a link into the home
	}
	return false
}

// links predicts a symbolic link, whose mode means nothing.
func (s *skel) links(name, target string) {
	link := modules.FileInfo{Kind: modules.Symlink, Target: target, UID: s.owner.UID}
	s.effects = append(s.effects, pathEffect(name, modules.PathState{FileInfo: link}))
}

func (s *skel) content(name string, info modules.FileInfo) (modules.Content, bool) {
	if info.Links != 1 || info.Size > maxSkelSize {
		return modules.Content{}, false
	}
	text, err := readFile(s.files, name, maxSkelSize)
	return modules.TextContent(text), err == nil
}
