package project

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/sealed/identity"
	"github.com/ccm-push/ccm-push/inventory/sealed/recipients"
)

// A team has a project folder and keys of two people.
type team struct {
	folder     string
	anna, bert *identity.Keys
	public     map[string]string
}

func newTeam(t *testing.T) *team {
	t.Helper()
	one := &team{folder: filepath.Join(t.TempDir(), "project"), public: map[string]string{}}
	keys := t.TempDir()
	keep := func(name string) *identity.Keys {
		key, err := age.GenerateX25519Identity()
		require.NoError(t, err)
		path := filepath.Join(keys, name)
		require.NoError(t, os.WriteFile(path, []byte(key.String()+"\n"), 0o600))
		one.public[name] = key.Recipient().String()
		return &identity.Keys{Files: []string{path}, Home: keys, Getenv: func(string) string { return "" }}
	}
	one.anna, one.bert = keep("anna"), keep("bert")
	return one
}

// write writes files below the folder.
func (m *team) write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(m.folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// rules makes one person, or several, the readers of all files.
func (m *team) rules(t *testing.T, to string) {
	t.Helper()
	m.write(t, map[string]string{recipients.FileName: "people: {anna: " + m.public["anna"] + ", bert: " + m.public["bert"] + "}\nrules: [{path: '**', to: [" + to + "]}]\n"})
}

func (m *team) project(t *testing.T) *Project {
	t.Helper()
	p, err := Of(m.folder)
	require.NoError(t, err)
	return p
}

// seal encrypts the marked values of a file.
func (m *team) seal(t *testing.T, name, clear string) {
	t.Helper()
	p := m.project(t)
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(m.folder, name)), 0o755))
	d, err := p.Read(filepath.Join(m.folder, name))
	require.NoError(t, err)
	text, err := d.Seal([]byte(clear))
	require.NoError(t, err)
	require.NoError(t, d.Write(text))
}

// tree returns all files below a folder, by path.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	}))
	return files
}

func (m *team) clear(t *testing.T, keys *identity.Keys, name string) (string, error) {
	t.Helper()
	p := m.project(t)
	d, err := p.Read(filepath.Join(m.folder, name))
	require.NoError(t, err)
	text, err := d.Clear(keys)
	return string(text), err
}

var secrets = map[string]string{
	"group_vars/all.yaml": "a: !secret one\n", "host_vars/web1.yaml": "b: {c: !secret two}\n", "vars.yaml": "d: !secret three\n",
}

func (m *team) sealAll(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		m.seal(t, name, secrets[name])
	}
}

func TestRekeyIsForThoseOfTheRules(t *testing.T) {
	m := newTeam(t)
	m.rules(t, "anna")
	m.sealAll(t)
	m.write(t, map[string]string{"clear.yaml": "a: 1\n", ".left.yaml" + tempSuffix: "# ccm-push secrets 1\n", ".git/x": "# ccm-push secrets 1\n", "nested/" + recipients.FileName: "", "nested/y": "# ccm-push secrets 1\n"})
	names, err := m.project(t).Rekey(m.anna, RekeyOptions{})
	require.NoError(t, err)
	require.Empty(t, names, "all is right")

	m.rules(t, "bert")
	before := tree(t, m.folder)
	_, err = m.project(t).Rekey(m.bert, RekeyOptions{})
	require.ErrorContains(t, err, "none of your keys can decrypt the file (tried ")
	require.ErrorContains(t, err, "anna must run: ccm-push secret rekey")
	require.Equal(t, before, tree(t, m.folder))

	names, err = m.project(t).Rekey(m.anna, RekeyOptions{})
	require.NoError(t, err)
	require.Len(t, names, len(secrets))
	for name, text := range secrets {
		got, err := m.clear(t, m.bert, name)
		require.NoError(t, err)
		require.Equal(t, text, got)
		_, err = m.clear(t, m.anna, name)
		require.ErrorContains(t, err, "none of your keys")
	}
	names, err = m.project(t).Rekey(m.bert, RekeyOptions{All: true})
	require.NoError(t, err)
	require.Len(t, names, len(secrets))
}

func TestMovedFiles(t *testing.T) {
	m := newTeam(t)
	m.rules(t, "anna")
	m.seal(t, "old.yaml", "a: !secret one\n")
	moved := filepath.Join(m.folder, "new.yaml")
	require.NoError(t, os.Rename(filepath.Join(m.folder, "old.yaml"), moved))
	_, err := m.clear(t, m.anna, "new.yaml")
	require.ErrorContains(t, err, "the values were encrypted for old.yaml, and this is new.yaml\n  hint: if the file was moved or copied on purpose: ccm-push secret rekey --moved ")
	_, err = m.project(t).Rekey(m.anna, RekeyOptions{All: true})
	require.ErrorContains(t, err, "the values were encrypted for old.yaml")
	names, err := m.project(t).Rekey(m.anna, RekeyOptions{Moved: []string{moved}})
	require.NoError(t, err)
	require.Len(t, names, 1)
	got, err := m.clear(t, m.anna, "new.yaml")
	require.NoError(t, err)
	require.Equal(t, "a: !secret one\n", got)
	_, err = m.project(t).Rekey(m.anna, RekeyOptions{Moved: []string{filepath.Join(m.folder, "none.yaml")}})
	require.EqualError(t, err, "none.yaml: it has no encrypted values")
}

var errKilled = errors.New("killed")

// TestRekeyIsAllOrNothing ends a rekey before each of its steps, and writes in steps of a few bytes:
// the next one who looks finds the old tree or the new one, and nothing else.
func TestRekeyIsAllOrNothing(t *testing.T) {
	m := newTeam(t)
	m.rules(t, "anna")
	m.sealAll(t)
	m.rules(t, "bert")
	old := tree(t, m.folder)
	sawOld, sawNew := false, false
	for last := 0; ; last++ {
		require.NoError(t, os.RemoveAll(m.folder))
		for path, text := range old {
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		p := m.project(t)
		steps := 0
		p.disk = disk{part: 250, before: func(string) error {
			if steps++; steps > last {
				return errKilled
			}
			return nil
		}}
		_, err := p.Rekey(m.anna, RekeyOptions{})
		if err == nil {
			require.True(t, sawOld && sawNew, "%d steps", last)
			require.Greater(t, last, 20)
			return
		}
		require.ErrorIs(t, err, errKilled)
		m.afterwards(t, old, &sawOld, &sawNew)
	}
}

// afterwards checks that a project has its old or its new content, and nothing in between.
func (m *team) afterwards(t *testing.T, old map[string]string, sawOld, sawNew *bool) {
	t.Helper()
	p := m.project(t) // completes the rekey
	now := tree(t, m.folder)
	delete(now, tempOf(filepath.Join(p.Root, journalName))) // it never had its name, and is written over
	require.Equal(t, slices.Sorted(maps.Keys(old)), slices.Sorted(maps.Keys(now)))
	keys := m.bert
	if maps.Equal(old, now) {
		*sawOld, keys = true, m.anna
	} else {
		*sawNew = true
	}
	for name, text := range secrets {
		got, err := m.clear(t, keys, name)
		require.NoError(t, err)
		require.Equal(t, text, got)
	}
}

// TestRecoveryIsInterrupted ends the completion of a rekey at each of its steps as well.
func TestRecoveryIsInterrupted(t *testing.T) {
	m := newTeam(t)
	m.rules(t, "anna")
	m.sealAll(t)
	m.rules(t, "bert")
	old := tree(t, m.folder)
	p := m.project(t)
	p.disk.before = func(step string) error {
		if strings.Contains(step, ".yaml") && !strings.Contains(step, journalName) {
			return errKilled
		}
		return nil
	}
	_, err := p.Rekey(m.anna, RekeyOptions{})
	require.ErrorIs(t, err, errKilled)
	for last := 0; ; last++ {
		steps := 0
		err := recoverIn(p.Root, disk{part: 300, before: func(string) error {
			if steps++; steps > last {
				return errKilled
			}
			return nil
		}})
		if err == nil {
			break
		}
		require.ErrorIs(t, err, errKilled)
	}
	var sawOld, sawNew bool
	m.afterwards(t, old, &sawOld, &sawNew)
	require.True(t, sawNew)
}

// TestFilesChangedMeanwhile checks that a concurrent change is never overwritten.
func TestFilesChangedMeanwhile(t *testing.T) {
	m := newTeam(t)
	m.rules(t, "anna")
	m.sealAll(t)
	p := m.project(t)
	path := filepath.Join(m.folder, "vars.yaml")
	d, err := p.Read(path)
	require.NoError(t, err)
	m.write(t, map[string]string{"vars.yaml": "changed: 1\n"})
	require.ErrorContains(t, d.Write([]byte("x")), "another program has changed the file ")

	m.seal(t, "vars.yaml", secrets["vars.yaml"])
	m.rules(t, "bert")
	p = m.project(t)
	p.disk.before = func(step string) error {
		if strings.HasSuffix(step, ".vars.yaml.ccm-push-new") {
			return errKilled
		}
		return nil
	}
	_, err = p.Rekey(m.anna, RekeyOptions{})
	require.ErrorIs(t, err, errKilled)
	m.write(t, map[string]string{"vars.yaml": "changed: 1\n"})
	_, err = Of(m.folder)
	require.ErrorContains(t, err, "was changed before a rekey was complete\n  hint: restore the file")
}

func TestAccess(t *testing.T) {
	m := newTeam(t)
	m.rules(t, "anna")
	m.sealAll(t)
	p := m.project(t)
	docs, err := p.Documents()
	require.NoError(t, err)
	require.Len(t, docs, len(secrets))
	for _, d := range docs {
		a, err := d.Access()
		require.NoError(t, err)
		require.True(t, a.Right)
	}
	m.rules(t, "anna, bert")
	docs, err = m.project(t).Documents()
	require.NoError(t, err)
	a, err := docs[0].Access()
	require.NoError(t, err)
	require.False(t, a.Right)
	require.Len(t, a.Can, 1)
	require.Len(t, a.To, 2)
}

// TestJournalOfOthers checks that a journal in a foreign project cannot write outside of it.
func TestJournalOfOthers(t *testing.T) {
	m := newTeam(t)
	m.rules(t, "anna")
	outside := filepath.Join(filepath.Dir(m.folder), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("mine"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(m.folder, "link")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(m.folder, "folder")))
	for _, path := range []string{"link", "folder/outside", "../outside", outside} {
		text, err := json.Marshal([]replacement{{Path: path, Before: hashOf([]byte("mine")), Text: []byte("theirs")}})
		require.NoError(t, err)
		m.write(t, map[string]string{journalName: string(text)})
		_, err = Of(m.folder)
		require.ErrorContains(t, err, "is not in this project\n  hint: ccm-push did not write this journal: remove the journal file", path)
		now, err := os.ReadFile(outside)
		require.NoError(t, err)
		require.Equal(t, "mine", string(now))
	}
	m.write(t, map[string]string{journalName: "{"})
	_, err := Of(m.folder)
	require.ErrorContains(t, err, "ccm-push did not write this journal: remove the journal file")
}

func TestNoFolder(t *testing.T) {
	m := newTeam(t)
	m.rules(t, "anna")
	_, err := Open(filepath.Join(m.folder, "none", "x.yaml"))
	require.ErrorContains(t, err, "no folder ")
}

func TestNoProject(t *testing.T) {
	_, err := Of(filepath.Join(t.TempDir(), "x.yaml"))
	require.ErrorContains(t, err, "no .ccm-secrets.yaml in this folder or in a folder above\n  hint: write one in the top folder of the project")
}
