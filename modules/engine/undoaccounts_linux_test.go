package engine_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/accounts/accountstest"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

const (
	annKey    = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMfpQb4L8YB70ZH90xHu4goo3u+EhiCsuSuGqVGvaqFq ann"
	otherHash = "$6$other$TVLlQcbpFVof5W3Yz4DTP6gRstiNuHwwTt6GLc1E5n0U0aDehy0S5knV8wiOQSpT0Y77vwPZN.Pq.H91p5hVO1"
)

// accountUndoer returns an undoer whose runs change the accounts of this host, which belong to the test.
func accountUndoer(t *testing.T) *undoer {
	home := t.TempDir()
	require.NoError(t, os.Chmod(home, 0o700))
	return &undoer{t: t, dir: "$", home: home, past: system.PastIn(home)}
}

func userEntry(name, rest string) wire.Entry {
	return wire.Entry{Type: "user", Name: name, Properties: []byte(`{"name":"` + name + `",` + rest + `}`)}
}

func groupEntry(name, rest string) wire.Entry {
	return wire.Entry{Type: "group", Name: name, Properties: []byte(`{"name":"` + name + `",` + rest + `}`)}
}

// accountFiles are the account files of a host.
var accountFiles = []string{"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/subuid", "/etc/subgid"}

// accountState returns all account data of a host.
func accountState(t *testing.T) map[string]modtest.Seen {
	all := map[string]modtest.Seen{}
	for _, name := range append(accountFiles, "/home") {
		for below, seen := range modtest.State(t, name) {
			all[path.Join(name, below)] = seen
		}
	}
	return all
}

func sh(t *testing.T, line string) {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-ec", line).CombinedOutput()
	require.NoError(t, err, string(out))
}

func shOut(t *testing.T, line string) string {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-ec", line).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// TestUndoOfAccounts undoes runs that have changed users and groups, and names changes that it cannot revert.
func TestUndoOfAccounts(t *testing.T) { accountstest.Private(t, undoOfAccounts) }

func undoOfAccounts(t *testing.T) {
	const back, removed = "restored the state before the run", "removed what the run had made"
	everything := `"shell":"/bin/bash","comment":"New","groups":["wheel"],"password_hash":"` + otherHash + `","expires":"2031-02-03","ssh_keys":["` + annKey + `"]`
	for _, test := range []struct {
		name    string
		before  string
		entries []wire.Entry
		since   string
		want    []string
		differs string // a command whose output is compared instead of the whole state, and
		prints  string
	}{
		{"all parts of a user", "", []wire.Entry{userEntry("bob", everything)}, "", []string{"changed user#bob: " + back}, "", ""},
		{"keys beside others", "mkdir -m 700 /home/bob/.ssh; echo '# old' >/home/bob/.ssh/authorized_keys; chmod 600 /home/bob/.ssh/authorized_keys; chown -R bob: /home/bob/.ssh",
			[]wire.Entry{userEntry("bob", everything)}, "", []string{"changed user#bob: " + back}, "", ""},
		{"keys alone", "", []wire.Entry{userEntry("bob", `"ssh_keys":["`+annKey+`"]`)}, "", []string{"changed user#bob: " + removed}, "", ""},
		{"a user that was removed with its home", "useradd -m rmu; echo precious >~rmu/data; useradd -m later", []wire.Entry{userEntry("rmu", `"ensure":"absent","remove_home":true`)}, "",
			[]string{"changed user#rmu: " + back}, "", ""},
		{"a user that was removed, and its groups", "usermod -aG wheel,users bob", []wire.Entry{userEntry("bob", `"ensure":"absent"`)}, "",
			[]string{"changed user#bob: " + back}, "", ""},
		{"a group that was removed", "", []wire.Entry{groupEntry("docker", `"ensure":"absent"`)}, "", []string{"changed group#docker: " + back}, "", ""},
		{"a gid", "chgrp docker /home/bob", []wire.Entry{groupEntry("docker", `"gid":950`)}, "", []string{"changed group#docker: " + back}, "", ""},
		{"a uid and what is in the home", "echo x >/home/bob/f; chown bob: /home/bob/f", []wire.Entry{userEntry("bob", `"uid":1700,"group":"wheel"`)}, "", []string{"changed user#bob: " + back}, "", ""},
		{"a new user and a new group", "", []wire.Entry{groupEntry("apps", `"gid":1800`), userEntry("app", `"uid":1700,"groups":["apps"],"shell":"/bin/bash"`)}, "",
			[]string{"changed user#app: " + back, "changed group#apps: " + back}, "", ""},
		{"a new user in a group of that name", "groupadd -g 1900 app", []wire.Entry{userEntry("app", `"group":"app"`)}, "", []string{"changed user#app: " + back}, "", ""},
		{"a new user who has something in its home", "", []wire.Entry{userEntry("app", `"uid":1700`)}, "echo x >/home/app/his; chown app: /home/app/his",
			[]string{`failed user#app: ` + back + `: put back in part; left unchanged: /home/app: his is in it; /home/app: root owns this directory now, with mode 0700, because its owner, user "app", no longer exists`},
			"stat -c '%U:%G %a' /home/app; getent passwd app || echo gone", "root:root 700\ngone"},
		{"a user whose uid another one has by now", "useradd -m -u 1600 rmu; echo precious >~rmu/data", []wire.Entry{userEntry("rmu", `"ensure":"absent","remove_home":true`)}, "useradd -u 1600 -M next",
			[]string{`failed user#rmu: ` + back + `: put back in part; left unchanged: user "rmu" had the uid 1600, which user "next" has now; /home/rmu: root owns this directory now, with mode 0700, because its owner, user "rmu", no longer exists`},
			"stat -c '%U:%G %a' /home/rmu; cat /home/rmu/data; getent passwd rmu || echo gone", "root:root 700\nprecious\ngone"},
		{"a user whose uid another one has by now, and whose home had stayed", "useradd -m -u 1600 rmu", []wire.Entry{userEntry("rmu", `"ensure":"absent"`)}, "useradd -u 1600 -M next",
			[]string{`failed user#rmu: ` + back + `: put back in part; left unchanged: user "rmu" had the uid 1600, which user "next" has now; /home/rmu: root owns this directory now, with mode 0700, because its owner, user "rmu", no longer exists`},
			"stat -c '%U:%G %a' /home/rmu", "root:root 700"},
		{"a group whose gid another one has by now", "", []wire.Entry{groupEntry("docker", `"ensure":"absent"`)}, "groupadd -g 900 next",
			[]string{`failed group#docker: left unchanged: group "docker" had the gid 900, which group "next" has now`}, "getent group docker || echo gone", "gone"},
		{"a shell that somebody else has changed since", "", []wire.Entry{userEntry("bob", everything)}, "usermod -s /bin/dash bob",
			[]string{`failed user#bob: ` + back + `: put back in part; left unchanged: the shell of user "bob" has been changed since`},
			"getent passwd bob; id -nG bob", "bob:x:1500:1500:Bob:/home/bob:/bin/dash\nbob docker"},
		{"other users who were changed since", "", []wire.Entry{userEntry("bob", everything), userEntry("app", `"uid":1700,"groups":["wheel"]`)}, "useradd -M -u 1650 -G docker,wheel his; usermod -L daemon",
			[]string{"changed user#app: " + back, "changed user#bob: " + back}, "getent passwd bob his; getent group docker wheel", "bob:x:1500:1500:Bob:/home/bob:/bin/sh\nhis:x:1650:1650::/home/his:/bin/sh\ndocker:x:900:his,bob\nwheel:x:901:his"},
		{"a user that was made again since", "useradd -M -u 1600 rmu", []wire.Entry{userEntry("rmu", `"ensure":"absent"`)}, "useradd -M -u 1601 rmu",
			[]string{`failed user#rmu: left unchanged: user "rmu" has been made again since (/etc/passwd)`}, "id -u rmu", "1601"},
		{"a new user whose password somebody has set since", "", []wire.Entry{userEntry("app", `"uid":1700`)}, "usermod -p '!x' app",
			[]string{`failed user#app: left unchanged: user "app" has been changed since (/etc/shadow)`}, "id -u app", "1700"},
	} {
		t.Run(test.name, func(t *testing.T) {
			accountstest.Reset(t)
			sh(t, test.before)
			was := accountState(t)
			u := accountUndoer(t)
			u.apply("1", test.entries...)
			require.Empty(t, u.warn)
			changed := accountState(t)
			sh(t, test.since)
			left := accountState(t)
			predicted := u.undo("1", true)
			require.Equal(t, left, accountState(t), "a check run has changed something")
			got := u.undo("1", false)
			require.Equal(t, test.want, got)
			for i := range predicted {
				status, _, _ := strings.Cut(test.want[i], " ")
				require.True(t, strings.HasPrefix(predicted[i], status+" "), predicted[i])
			}
			if test.differs != "" {
				require.Equal(t, test.prints, shOut(t, test.differs))
				return
			}
			require.Equal(t, was, accountState(t))
			u.undo("undo1", false)
			require.Equal(t, changed, accountState(t), "the undo that was undone")
		})
	}
}

// TestRevertOfAccounts reverts unconfirmed changes, also if the state after the run
// is unknown.
func TestRevertOfAccounts(t *testing.T) { accountstest.Private(t, revertOfAccounts) }

func revertOfAccounts(t *testing.T) {
	sh(t, "useradd -m -u 1600 rmu")
	was := accountState(t)
	u := accountUndoer(t)
	u.apply("1", userEntry("bob", `"shell":"/bin/bash","groups":["wheel"],"password_hash":"*","ssh_keys":["`+annKey+`"]`), groupEntry("docker", `"ensure":"absent"`),
		userEntry("rmu", `"ensure":"absent","remove_home":true`), userEntry("app", `"uid":1700`))
	sh(t, "usermod -s /bin/dash bob")
	e := u.engine()
	e.Unconfirmed = &engine.Unconfirmed{First: 1}
	cat := wire.Catalog{Lock: &wire.Lock{Run: "unconfirmed1"}, Undo: &wire.Undo{Run: "1", Maybe: true}}
	require.NoError(t, e.TakeBack(&cat))
	_, err := e.Run(t.Context(), &cat, func(r *wire.Result) error {
		require.Equal(t, wire.Changed, r.Status, r.Error+r.Message)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, was, accountState(t))
}

// TestUndoOfAccountsAtRandom changes accounts at random, then by hand, and undoes the run: the former state is back, or
// the exceptions are named.
func TestUndoOfAccountsAtRandom(t *testing.T) { accountstest.Private(t, undoOfAccountsAtRandom) }

func undoOfAccountsAtRandom(t *testing.T) {
	seeds := uint64(150)
	if testing.Short() {
		seeds = 15
	}
	exact := 0
	for seed := range seeds {
		g := rand.New(rand.NewPCG(seed, 2))
		pick := func(all ...string) string { return all[g.IntN(len(all))] }
		accountstest.Reset(t)
		sh(t, "useradd -m -u 1600 -G wheel ann; groupadd -g 1950 -U ann,bob staff 2>/dev/null || { groupadd -g 1950 staff; gpasswd -M ann,bob staff; }")
		was := accountState(t)
		u := accountUndoer(t)
		e := u.engine()
		var entries []wire.Entry
		for range 1 + g.IntN(4) {
			name := pick("bob", "ann", "app", "app2")
			switch g.IntN(5) {
			case 0:
				entries = append(entries, userEntry(name, `"ensure":"absent","remove_home":`+pick("true", "false")))
			case 1:
				entries = append(entries, groupEntry(pick("docker", "staff", "wheel", "new"), pick(`"ensure":"absent"`, `"gid":`+pick("1960", "1961"))))
			default:
				p := []string{`"ensure":"present"`}
				for _, one := range []string{`"shell":"/bin/bash"`, `"comment":"New"`, `"groups":["docker","wheel"]`, `"groups":[]`, `"expires":"2031-02-03"`, `"password_hash":"*"`, `"ssh_keys":["` + annKey + `"]`, `"uid":` + pick("1700", "1701")} {
					if g.IntN(3) == 0 && !strings.Contains(strings.Join(p, ","), one[:5]) {
						p = append(p, one)
					}
				}
				entries = append(entries, userEntry(name, strings.Join(p, ",")))
			}
		}
		named := map[string]bool{}
		entries = slices.DeleteFunc(entries, func(e wire.Entry) bool { // a play has each once
			again := named[e.Type+e.Name]
			named[e.Type+e.Name] = true
			return again
		})
		cat := wire.Catalog{Lock: &wire.Lock{Run: "1"}, Once: &wire.Once{Run: "1", Play: 1}, Entries: entries}
		_, err := e.Run(t.Context(), &cat, func(*wire.Result) error { return nil })
		require.NoError(t, err)
		byHand := pick("", "", "usermod -s /bin/dash bob || :", "userdel ann || :", "useradd -M -u 1600 his || :", "groupadd -g 950 his || :", "gpasswd -a bob users || :")
		before := accountState(t)
		sh(t, "{ :; "+byHand+"\n} >/dev/null 2>&1 || :")
		touched := !maps.Equal(before, accountState(t))
		e = u.engine()
		undo := wire.Catalog{Lock: &wire.Lock{Run: "undo1"}, Undo: &wire.Undo{Run: "1", Maybe: true}}
		require.NoError(t, e.TakeBack(&undo))
		failed := []string{}
		_, err = e.Run(t.Context(), &undo, func(r *wire.Result) error {
			if r.Status != wire.Changed && r.Status != "" {
				failed = append(failed, fmt.Sprintf("%s %s", r.Status, r.Error+r.Message))
			}
			return nil
		})
		require.NoError(t, err)
		if len(failed) > 0 {
			require.True(t, touched, "seed %d: %s: %v", seed, entryTexts(entries), failed)
			continue
		}
		if !touched {
			exact++
			is := accountState(t)
			for _, name := range accountFiles { // an account that was removed and added again is the last one
				a, b := was[name], is[name]
				a.Text, b.Text = sorted(a.Text), sorted(b.Text)
				require.Equal(t, a, b, "seed %d: %s: %s", seed, name, entryTexts(entries))
				delete(was, name)
				delete(is, name)
			}
			require.Equal(t, was, is, "seed %d: %s", seed, entryTexts(entries))
		}
	}
	require.Greater(t, exact, int(seeds)/4)
}

func sorted(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

func entryTexts(entries []wire.Entry) (all []string) {
	for _, e := range entries {
		all = append(all, e.Type+string(e.Properties))
	}
	return all
}
