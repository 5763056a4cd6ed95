package before

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// An account is a node that has no path: what the files of accounts say of a name.
const account modules.FileKind = "account"

// accountPath is the Path of such a node. No path has it.
func accountPath(name string) string { return "account " + name }

// KeepAccounts keeps what the files of accounts say of names, unless it has done so already. From
// then on it does not keep these files whole.
func (k *Keeper) KeepAccounts(names ...string) {
	var fresh []Node
	for _, name := range names {
		if k.known[accountPath(name)] || k.err != nil {
			continue
		}
		n := Node{Path: accountPath(name), Kind: account}
		if n.Account, k.err = readRecord(k.Files, name); k.err == nil {
			k.known[n.Path] = true
			fresh = append(fresh, n)
		}
	}
	k.nodes = append(k.nodes, fresh...)
	if k.err == nil && len(fresh) > 0 {
		k.err = k.Note(fresh)
	}
}

func readRecord(files modules.FileReader, name string) (*accounts.Record, error) {
	r, err := accounts.ReadRecord(files, name)
	return &r, err
}

// ofAccounts reports whether a path is one of the files of which accounts are kept.
func (k *Keeper) ofAccounts(path string) bool {
	return slices.Contains(accounts.RecordFiles(), path) && slices.ContainsFunc(slices.Collect(maps.Keys(k.known)), isAccount)
}

func isAccount(path string) bool { return strings.HasPrefix(path, accountPath("")) }

// overlay is a reader with other texts of some files.
type overlay struct {
	modules.FileReader
	texts map[string]string
}

// Open implements [modules.FileReader].
func (o overlay) Open(name string) (io.ReadCloser, error) {
	if text, ok := o.texts[name]; ok {
		return io.NopCloser(strings.NewReader(text)), nil
	}
	return o.FileReader.Open(name)
}

// restoreAccounts plans to bring the accounts back that were kept.
func (s *Restore) restoreAccounts(files modules.FileReader) (all accounts.Restored, err error) {
	all.Texts = map[string]string{}
	for i := range s.Before {
		was := &s.Before[i]
		if was.Account == nil {
			continue
		}
		var left *accounts.Record
		if !s.Force {
			left = s.Left[i].Account
		}
		name := strings.TrimPrefix(was.Path, accountPath(""))
		one, err := accounts.Restore(overlay{files, all.Texts}, name, was.Account, left)
		if err != nil {
			return all, err
		}
		maps.Copy(all.Texts, one.Texts)
		all.Changes = append(all.Changes, one.Changes...)
		all.Commands = append(all.Commands, one.Commands...)
		all.Left = append(all.Left, one.Left...)
	}
	return all, nil
}

// accounts plans the changes of accounts.
func (c *restoring) accounts() error {
	if !slices.ContainsFunc(c.Before, func(n Node) bool { return n.Account != nil }) {
		return nil
	}
	var err error
	if c.account, err = c.restoreAccounts(c.h.Files); err != nil {
		return err
	}
	c.left = append(c.left, c.account.Left...)
	after := overlay{c.h.Files, c.account.Texts}
	for i := range c.Before {
		was := &c.Before[i]
		if was.Account == nil {
			continue
		}
		if _, there := was.Account.User(); there {
			continue
		}
		is, err := readRecord(after, strings.TrimPrefix(was.Path, accountPath("")))
		if err != nil {
			return err
		}
		if user, stays := is.User(); stays {
			c.inhabited = append(c.inhabited, user.Home)
		}
	}
	if len(c.account.Texts) > 0 {
		return accounts.CheckPermitted(c.h.Files)
	}
	return nil
}

// isInhabited reports whether a path is in the home of a user that the run created, and that remains after the undo.
func (c *restoring) isInhabited(path string) bool {
	return slices.ContainsFunc(c.inhabited, func(home string) bool { return path == home || strings.HasPrefix(path, home+"/") })
}

// homes makes root the owner of homes whose user is missing after the undo: the next user
// with that uid must not own them.
func (c *restoring) homes() error {
	after := overlay{c.h.Files, c.account.Texts}
	for i := range c.Before {
		was := &c.Before[i]
		if was.Account == nil {
			continue
		}
		user, there := was.Account.User()
		if !there && !c.Force {
			user, there = c.Left[i].Account.User()
		}
		if !there {
			now, err := readRecord(c.h.Files, strings.TrimPrefix(was.Path, accountPath("")))
			if err != nil {
				return err
			}
			user, there = now.User()
		}
		if !there || !strings.HasPrefix(user.Home, "/") || user.Home == "/" {
			continue
		}
		if is, err := readRecord(after, user.Name); err != nil {
			return err
		} else if _, stays := is.User(); stays {
			continue
		}
		if err := c.orphan(user, after); err != nil {
			return err
		}
	}
	return nil
}

// orphan makes root the owner of a missing user's home, unless the home is removed or another user has it.
func (c *restoring) orphan(user accounts.User, after modules.FileReader) error {
	texts, err := accounts.Read(modules.Host{Files: modules.Files{FileReader: after}, Forecast: modules.NoForecast{}})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(texts.Users(), func(u accounts.User) bool { return u.Home == user.Home }) {
		return nil
	}
	leave := func() {
		c.left = append(c.left, fmt.Sprintf("%s: root owns this directory now, with mode 0700, because its owner, user %q, no longer exists", user.Home, user.Name))
	}
	own := modules.Attributes{Mode: homeOfNobody, Exact: true}
	for i := range c.steps {
		if s := &c.steps[i]; s.want.Path == user.Home && s.want.Kind == modules.Directory {
			s.want.UID, s.want.GID, s.want.Mode, s.attributes = 0, 0, homeOfNobody, own
			leave()
			return nil
		}
	}
	now, err := look(c.h.Files, user.Home)
	was := slices.IndexFunc(c.Before, func(n Node) bool { return n.Path == user.Home })
	switch {
	case err != nil:
		return err
	case now.Kind != modules.Directory || now.UID != user.UID || c.gone[user.Home]:
		return nil
	case !c.hadUser(user.Name) && (was < 0 || c.Before[was].Kind != modules.Absent):
		return nil // which the run has not made
	}
	want := now
	want.UID, want.GID, want.Mode = 0, 0, homeOfNobody
	c.steps = append(c.steps, step{want: want, now: now, differs: owner | group | mode, attributes: own})
	leave()
	return nil
}

const homeOfNobody fs.FileMode = 0o700

// hadUser reports whether a user was there before.
func (c *restoring) hadUser(name string) bool {
	return slices.ContainsFunc(c.Before, func(n Node) bool {
		if n.Account == nil || n.Path != accountPath(name) {
			return false
		}
		_, was := n.Account.User()
		return was
	})
}

// addAccounts adds the changes of accounts to a plan.
func (c *restoring) addAccounts(p *modules.Plan) error {
	p.Changes = append(p.Changes, c.account.Changes...)
	for _, file := range slices.Sorted(maps.Keys(c.account.Texts)) {
		at, err := c.h.Files.Stat(file)
		if err != nil {
			return err
		}
		content := modules.TextContent(c.account.Texts[file])
		at.Size = content.Size()
		p.Effects = append(p.Effects, modules.Effect{Kind: modules.PathEffect, Key: file, State: modules.PathState{FileInfo: at, Content: content}})
	}
	if len(c.account.Texts) == 0 {
		return nil
	}
	after := overlay{c.h.Files, c.account.Texts}
	for i := range c.Before {
		if c.Before[i].Account == nil {
			continue
		}
		name := strings.TrimPrefix(c.Before[i].Path, accountPath(""))
		is, err := readRecord(after, name)
		if err != nil {
			return err
		}
		user, there := is.User()
		p.Effects = append(p.Effects, modules.Effect{Kind: modules.UserEffect, Key: name, State: state(there, user.UID)})
		group, there := is.Group()
		p.Effects = append(p.Effects, modules.Effect{Kind: modules.GroupEffect, Key: name, State: state(there, group.GID)})
	}
	if len(c.account.Commands) > 0 { // which give files in homes other owners
		p.Effects = append(p.Effects, modules.Anything)
	}
	return nil
}

func state(there bool, id int) modules.AccountState {
	if !there {
		return modules.AccountState{}
	}
	return modules.AccountState{Exists: true, ID: &id}
}

// stillRestores is restoreAccounts after a Check, which has named everything that is not restored.
func (s *Restore) stillRestores(files modules.FileReader) (accounts.Restored, error) {
	all, err := s.restoreAccounts(files)
	for _, why := range all.Left {
		if err == nil && !slices.Contains(s.incomplete, why) {
			err = modules.Refuse("left unchanged: %s", why)
		}
	}
	return all, err
}

// applyAccounts restores the accounts, groups first: users may need them. It reads the files again
// each time, because other programs and useradd itself change them.
func (s *Restore) applyAccounts(ctx context.Context, h modules.Host) error {
	for _, step := range []struct {
		program string   // changes the owners of files
		files   []string // account files to write after the program
	}{
		{"groupmod", accounts.RecordFiles()[:2]},
		{"usermod", accounts.RecordFiles()},
	} {
		plan, err := s.stillRestores(h.Files)
		if err != nil {
			return err
		}
		for _, argv := range plan.Commands {
			if argv[0] != step.program {
				continue
			}
			if err := accounts.Run(ctx, h, modules.Command{Argv: argv}); err != nil {
				return err
			}
		}
		if plan, err = s.stillRestores(h.Files); err != nil {
			return err
		}
		for _, file := range step.files {
			if text, changes := plan.Texts[file]; changes {
				if err := rewrite(ctx, h.Files, file, text); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func rewrite(ctx context.Context, files modules.Files, file, text string) error {
	at, err := files.Stat(file)
	if err != nil {
		return err
	}
	return files.Write(ctx, file, strings.NewReader(text), modules.Attributes{Mode: at.Mode, UID: at.UID, GID: at.GID, Exact: true})
}

// verifyAccounts checks that the accounts have been restored.
func (s *Restore) verifyAccounts(files modules.FileReader) error {
	still, err := s.stillRestores(files)
	if err == nil && len(still.Texts) > 0 {
		err = errors.New("the accounts have changed")
	}
	return err
}
