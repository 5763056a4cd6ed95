package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// confirmer arms or refuses, and logs the requests.
type confirmer struct {
	asked []string
	err   error
	first int
	look  func() // called at each request
}

func (c *confirmer) Armed() bool { return c.first > 0 }
func (c *confirmer) First() int  { return c.first }

func (c *confirmer) Arm(_ context.Context, a engine.Arming) error {
	c.asked = append(c.asked, fmt.Sprintf("%d: %s (from change %d on)", a.Index, a.Why, a.First))
	if c.look != nil {
		c.look()
	}
	if c.err == nil {
		c.first = a.First
	}
	return c.err
}

// passwd has users with homes in the folder of a test.
type passwd struct {
	modules.FileReader
	text string
}

func (p passwd) Open(name string) (io.ReadCloser, error) {
	switch name {
	case "/etc/passwd":
		return io.NopCloser(strings.NewReader(p.text)), nil
	case "/etc/group", "/etc/ssh/sshd_config":
		return nil, os.ErrNotExist
	}
	return p.FileReader.Open(name)
}

// confirming applies entries of a run whose changes must be confirmed; without a confirmer it predicts them.
func (u *undoer) confirming(c *confirmer, mode wire.ConfirmMode, parallel int, entries ...wire.Entry) (results []string) {
	u.t.Helper()
	e := u.engine()
	if c != nil {
		e.Confirm = c
	}
	e.Host.Files.FileReader = passwd{e.Host.Files.FileReader, "deploy:x:1:1::" + u.dir + "/home:/bin/sh\n"}
	cat := enginetest.In(u.dir, wire.Catalog{
		Lock: &wire.Lock{Run: "1", Holder: "ops@ctl"}, Once: &wire.Once{Run: "1", Play: 1}, Parallel: parallel,
		Confirm: &wire.Confirm{Mode: mode, Login: "deploy"}, Entries: entries,
	})
	if c == nil {
		cat.Lock, cat.Once, cat.Check = nil, nil, true
	}
	list, _ := enginetest.Run(u.t, e, u.dir, cat)
	for _, r := range list {
		results = append(results, strings.ReplaceAll(fmt.Sprintf("%d %s: %s", r.Index, statusText(r.Status), r.Message+r.Error), u.dir, "$"))
	}
	return results
}

// revert reverts unconfirmed changes, as the watchdog does.
func (u *undoer) revert(first int) (results []string) {
	u.t.Helper()
	e := u.engine()
	e.Unconfirmed = &engine.Unconfirmed{First: first}
	cat := wire.Catalog{Lock: &wire.Lock{Run: "unconfirmed", Holder: "the watchdog"}, Undo: &wire.Undo{Run: "1", Maybe: true}}
	require.NoError(u.t, e.TakeBack(&cat))
	list, _ := enginetest.Run(u.t, e, u.dir, cat)
	for _, r := range list {
		results = append(results, strings.ReplaceAll(fmt.Sprintf("%s %s: %s", statusText(r.Status), cat.Entries[r.Index].Type+"#"+cat.Entries[r.Index].Name, r.Message+r.Error), u.dir, "$"))
	}
	return results
}

func fileWith(path, content string) wire.Entry {
	return enginetest.File(path, `"mode":"0644","content":"`+content+`"`)
}

func confirmed(e wire.Entry, mode wire.ConfirmMode) wire.Entry {
	e.Confirm = mode
	return e
}

func TestConfirmIsAskedBeforeTheFirstSuchChange(t *testing.T) {
	for _, parallel := range []int{0, 4} {
		t.Run(fmt.Sprint(parallel), func(t *testing.T) {
			u := newUndoer(t)
			require.NoError(t, os.MkdirAll(u.at("home/.ssh"), 0o755))
			u.write("home/.ssh/known", "same")
			c := &confirmer{}
			c.look = func() { require.NoFileExists(t, u.at("home/.ssh/authorized_keys"), "it was asked too late") }
			stable := fileWith("$/home/.ssh/known", "same")
			before := fileWith("$/before", "x")
			key := fileWith("$/home/.ssh/authorized_keys", "key")
			key.Require = []int{0, 1}
			more := fileWith("$/home/.ssh/more", "more")
			more.Require = []int{2}
			results := u.confirming(c, wire.ConfirmAuto, parallel, before, stable, key, more)
			for _, r := range results {
				require.NotContains(t, r, "failed")
			}
			require.Equal(t, []string{"2: it may touch the keys by which one logs in (path " + u.at("home/.ssh/authorized_keys") + ") (from change 2 on)"}, c.asked)
			require.Equal(t, []string{
				"changed file#$/home/.ssh/more: removed what the run had made",
				"changed file#$/home/.ssh/authorized_keys: removed what the run had made",
			}, u.revert(c.first))
			require.FileExists(t, u.at("before"), "a change before that one was taken back")
			require.FileExists(t, u.at("home/.ssh/known"))
		})
	}
}

// TestConfirmModes has what catalogs and entries say of it.
func TestConfirmModes(t *testing.T) {
	command := enginetest.Command("true", "")
	for _, test := range []struct {
		name  string
		mode  wire.ConfirmMode
		entry wire.Entry
		asked string
		want  string
	}{
		{"auto, and harmless", wire.ConfirmAuto, fileWith("$/a", "x"), "", "0 changed: created the file"},
		{"auto, and a way", wire.ConfirmAuto, fileWith("$/home/.ssh/a", "x"), "it may touch the keys by which one logs in (path $/home/.ssh/a)", "0 changed: created the file"},
		{"auto, but never", wire.ConfirmAuto, confirmed(fileWith("$/home/.ssh/a", "x"), wire.ConfirmNever), "", "0 changed: created the file"},
		{"never, but always", wire.ConfirmNever, confirmed(fileWith("$/a", "x"), wire.ConfirmAlways), "it has confirm: always", "0 changed: created the file"},
		{"never", wire.ConfirmNever, fileWith("$/home/.ssh/a", "x"), "", "0 changed: created the file"},
		{"always", wire.ConfirmAlways, fileWith("$/a", "x"), "it has confirm: always", "0 changed: created the file"},
		{"a command", wire.ConfirmAuto, command, "", "0 changed: executed"},
		{
			"a command, always", wire.ConfirmAlways, command, "",
			"0 failed: not done, because it has confirm: always, and without confirmation ccm-push could not revert the change: type exec does not report its changes; to apply the change anyway, write confirm: never",
		},
		{
			"without history", wire.ConfirmAuto, enginetest.With(fileWith("$/home/.ssh/a", "x"), func(e *wire.Entry) { e.NoHistory = true }), "",
			"0 failed: not done, because it may touch the keys by which one logs in (path $/home/.ssh/a), and without confirmation ccm-push could not revert the change: nothing is kept of it (history: false); to apply the change anyway, write confirm: never",
		},
		{"noop", wire.ConfirmAlways, enginetest.With(fileWith("$/a", "x"), func(e *wire.Entry) { e.Check = true }), "", "0 changed: Would have created the file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := newUndoer(t)
			require.NoError(t, os.MkdirAll(u.at("home/.ssh"), 0o755))
			c := &confirmer{}
			require.Equal(t, []string{test.want}, u.confirming(c, test.mode, 0, test.entry))
			var want []string
			if test.asked != "" {
				want = []string{"0: " + strings.ReplaceAll(test.asked, "$", u.dir) + " (from change 1 on)"}
			}
			require.Equal(t, want, c.asked)

			u = newUndoer(t)
			require.NoError(t, os.MkdirAll(u.at("home/.ssh"), 0o755))
			predicted := u.confirming(nil, test.mode, 0, test.entry)
			require.Len(t, predicted, 1)
			if strings.HasPrefix(test.want, "0 failed") {
				require.Equal(t, test.want, predicted[0])
			} else {
				require.True(t, strings.HasPrefix(predicted[0], "0 changed"), predicted[0])
			}
		})
	}
}

// TestWhatACommandFollowsIsTakenBack uses a command with confirm: always that reads a file which is not a known way to
// the host: the file is restored, and then the command runs again.
func TestWhatACommandFollowsIsTakenBack(t *testing.T) {
	for _, test := range []struct {
		mode  wire.ConfirmMode
		asked string
	}{
		{wire.ConfirmAuto, "1: exec#load, which follows it, has confirm: always (from change 2 on)"},
		{wire.ConfirmNever, "3: it has confirm: always (from change 2 on)"}, // the file itself is not confirmed
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			u := newUndoer(t)
			u.write("rules", "old")
			load := enginetest.Command("load", `"command":"cat rules >>active","cwd":"`+u.dir+`","refreshonly":true`)
			load.Subscribe, load.Confirm = []int{1}, wire.ConfirmAlways
			c := &confirmer{}
			results := u.confirming(c, test.mode, 0, fileWith("$/before", "x"), fileWith("$/rules", "new"), fileWith("$/between", "x"), load)
			require.Equal(t, "3 changed: executed via subscribe", results[3])
			require.Equal(t, []string{test.asked}, c.asked)
			u.revert(c.first)
			active, err := os.ReadFile(u.at("active"))
			require.NoError(t, err)
			require.Equal(t, "newold", string(active))
			require.FileExists(t, u.at("before"))
		})
	}
}

// TestNotConfirmed has no way to log in a second time: changes that need it fail, and the others are made.
func TestNotConfirmed(t *testing.T) {
	u := newUndoer(t)
	c := &confirmer{err: errors.New("no second login")}
	after := fileWith("$/after", "x")
	after.Require = []int{0}
	results := u.confirming(c, wire.ConfirmNever, 0, confirmed(fileWith("$/a", "x"), wire.ConfirmAlways), fileWith("$/b", "x"), after, confirmed(fileWith("$/c", "x"), wire.ConfirmAlways))
	require.Equal(t, []string{"0 failed: no second login", "1 changed: created the file", "2 skipped: skipped due to unmet requirement", "3 failed: no second login"}, results)
	require.Len(t, c.asked, 2)
	require.NoFileExists(t, u.at("a"))
	require.NoFileExists(t, u.at("c"))
}

// TestUnconfirmedIsTakenBack covers states that an undo would keep.
func TestUnconfirmedIsTakenBack(t *testing.T) {
	for _, test := range []struct {
		name string
		then func(u *undoer) // after the run
	}{
		{"as it was left", func(*undoer) {}},
		{"somebody has written it since", func(u *undoer) { u.write("a", "by hand") }},
		{"somebody has removed it since", func(u *undoer) { require.NoError(u.t, os.Remove(u.at("a"))) }},
		{"the program was killed before it knew how it left it", func(u *undoer) { u.forgetLeft() }},
		{"and what was there came back by itself", func(u *undoer) {
			u.forgetLeft()
			u.write("a", "old")
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := newUndoer(t)
			u.write("a", "old")
			require.NoError(t, os.Chmod(u.at("a"), 0o640))
			u.write("served", "old\n")
			restart := enginetest.Command("cat $/a >>$/served", `"refresh_only":true`)
			restart.Subscribe = []int{0}
			c := &confirmer{}
			results := u.confirming(c, wire.ConfirmAlways, 0, fileWith("$/a", "new"), restart)
			require.Equal(t, []string{"0 changed: updated the file", "1 changed: executed via subscribe"}, results)
			test.then(u)
			u.revert(c.first)
			got, err := os.ReadFile(u.at("a"))
			require.NoError(t, err)
			require.Equal(t, "old", string(got))
			info, err := os.Stat(u.at("a"))
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
			served, err := os.ReadFile(u.at("served"))
			require.NoError(t, err)
			require.True(t, strings.HasSuffix(string(served), "old"), "what had been refreshed runs with what was there before: %s", served)
			u.revert(c.first) // the watchdog was killed before it could say so
			again, err := os.ReadFile(u.at("served"))
			require.NoError(t, err)
			require.Equal(t, string(served), string(again), "nothing is done twice")
		})
	}
}

// forgetLeft removes the states after changes from the record of the run.
func (u *undoer) forgetLeft() {
	u.t.Helper()
	logs, err := filepath.Glob(filepath.Join(u.home, "history", "1.jsonl"))
	require.NoError(u.t, err)
	require.Len(u.t, logs, 1)
	all, err := os.ReadFile(logs[0])
	require.NoError(u.t, err)
	var kept []byte
	for line := range bytes.Lines(all) {
		if !bytes.HasPrefix(line, []byte(`{"left"`)) { // in the format without checksums
			end := bytes.LastIndexByte(line, ' ')
			kept = append(append(kept, bytes.Replace(line[:end], []byte(`"format":2`), []byte(`"format":1`), 1)...), '\n')
		}
	}
	require.Contains(u.t, string(all), `{"left"`)
	require.NoError(u.t, os.WriteFile(logs[0], kept, 0o600))
}

// TestConfirmedBefore continues a run that has changed the same resource before, with a confirmation: only the later
// change is reverted.
func TestConfirmedBefore(t *testing.T) {
	u := newUndoer(t)
	u.write("a", "old")
	require.Equal(t, []string{"0 changed: updated the file"}, u.confirming(&confirmer{}, wire.ConfirmAlways, 0, fileWith("$/a", "new")))
	u.write("a", "by hand")
	c := &confirmer{}
	require.Equal(t, []string{"0 changed: updated the file"}, u.confirming(c, wire.ConfirmAlways, 0, fileWith("$/a", "new")))
	require.Equal(t, 2, c.first)
	u.revert(c.first)
	got, err := os.ReadFile(u.at("a"))
	require.NoError(t, err)
	require.Equal(t, "by hand", string(got))
}

// TestRefusalsOfACheckRun predicts which changes a run refuses: only those before the first change for which it arms a revert.
func TestRefusalsOfACheckRun(t *testing.T) {
	file, command := fileWith("$/home/.ssh/a", "x"), confirmed(enginetest.Command("true", ""), wire.ConfirmAlways)
	for _, test := range []struct {
		name    string
		entries []wire.Entry
		want    []wire.Status
	}{
		{"refused", []wire.Entry{command, file}, []wire.Status{wire.Failed, wire.Changed}},
		{"armed before", []wire.Entry{file, command}, []wire.Status{wire.Changed, wire.Changed}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, c := range []*confirmer{nil, {}} {
				u := newUndoer(t)
				require.NoError(t, os.MkdirAll(u.at("home/.ssh"), 0o755))
				results := u.confirming(c, wire.ConfirmAuto, 0, test.entries...)
				require.Len(t, results, len(test.want))
				for i, status := range test.want {
					require.True(t, strings.HasPrefix(results[i], fmt.Sprintf("%d %s:", i, statusText(status))), results[i])
				}
			}
		})
	}
}
