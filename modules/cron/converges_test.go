package cron_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/cron"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// program is a crontab that keeps its files in $CRONTABS, by user, with the
// messages and exit codes of Debian's. Tests of real ones are in e2e.
const program = `#!/bin/sh
set -eu
user=own
if [ "$1" = -u ]; then user=$2; shift 2; fi
file=$CRONTABS/$user
[ ! -e "$CRONTABS/denied" ] || { echo "You ($user) are not allowed to use this program (crontab)" >&2; exit 1; }
case $1 in
-l) [ -e "$file" ] || { echo "no crontab for $user" >&2; exit 1; }; cat "$file" ;;
-) new=$(cat; echo .)
	new=${new%.}
	case $new in *full*) printf '"-":1: bad minute\nerrors in crontab file, cannot install.\n' >&2; exit 1 ;; esac
	printf %s "$new" >"$file" ;;
esac
`

// A local entry is in a crontab of program.
type local struct {
	cron.Cron
	Store   string `json:"store" doc:"folder of the crontabs"`
	Program string `json:"program" doc:"folder of the program"`
}

func (l *local) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	return l.Cron.Check(ctx, l.on(h))
}

func (l *local) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	return l.Cron.Apply(ctx, l.on(h), p)
}

// Watch returns the place of this program's crontabs; real ones are in TestWatch.
func (l *local) Watch(context.Context, modules.Host) (modules.Sources, error) {
	return modules.Sources{Paths: []string{l.Program}, Trees: []string{l.Store}}, nil
}

func (l *local) on(h modules.Host) modules.Host {
	h.Commands = localCommands{h.Commands, l}
	return h
}

type localCommands struct {
	modules.Commands
	*local
}

func (l localCommands) command(c modules.Command) modules.Command {
	c.Path, c.Env = l.Program+":/usr/bin:/bin", []string{"CRONTABS=" + l.Store}
	return c
}

func (l localCommands) Probe(ctx context.Context, c modules.Command) (modules.Exit, error) {
	return l.Commands.Probe(ctx, l.command(c))
}

func (l localCommands) Run(ctx context.Context, c modules.Command) (modules.Exit, error) {
	return l.Commands.Run(ctx, l.command(c))
}

// localType is the type with entries in crontabs of program.
func localType(t *testing.T) modules.Type {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "crontab"), []byte(program), 0o755))
	typ := cron.Type()
	typ.New = func() modules.Resource { return &local{Program: dir} }
	return typ
}

func TestConverges(t *testing.T) {
	table := modtest.Node{Path: "own", Text: "MAILTO=me\n#ccm-push: backup\n0 3 * * * backup\n"}
	added := []modules.Change{modtest.Change("ensure", "absent", "present")}
	removed := []modules.Change{modtest.Change("ensure", "present", "absent")}
	properties := func(format string, args ...any) string {
		return `{"name":"backup","store":"$ROOT",` + fmt.Sprintf(format, args...) + `}`
	}
	modtest.Converges(t, localType(t), modtest.Kept("own", "/var/spool/cron", []modtest.Fixture{
		{Name: "first entry", Properties: properties(`"command":"backup"`), Action: "added the entry", Changes: added},
		{
			Name: "another entry", Tree: []modtest.Node{{Path: "own", Text: "# mine\n1 1 1 1 1 y\n"}},
			Properties: properties(`"command":"backup","special":"daily"`),
			Action:     "added the entry", Changes: added,
		},
		{Name: "right", Tree: []modtest.Node{table}, Properties: properties(`"command":"backup","minute":"0","hour":"3"`)},
		{
			Name: "all is different", Tree: []modtest.Node{table},
			Properties: properties(`"job":"backup -v","minute":"0","hour":"4","weekday":"mon-fri","disabled":true`),
			Action:     "updated the entry",
			Changes: []modules.Change{
				modtest.Change("schedule", "0 3 * * *", "0 4 * * mon-fri"), modtest.Change("command", "backup", "backup -v"), modtest.Change("disabled", "false", "true"),
			},
		},
		{
			Name: "there twice", Tree: []modtest.Node{{Path: "own", Text: strings.Repeat(table.Text, 2)}},
			Properties: properties(`"command":"backup","minute":"0","hour":"3"`),
			Action:     "updated the entry", Changes: []modules.Change{modtest.Change("entries", "2", "1")},
		},
		{
			Name: "marker only", Tree: []modtest.Node{{Path: "own", Text: "#ccm-push: backup\n"}},
			Properties: properties(`"command":"backup"`), Action: "added the entry", Changes: added,
		},
		{Name: "remove", Tree: []modtest.Node{table}, Properties: properties(`"ensure":"absent"`), Action: "removed the entry", Changes: removed},
		{Name: "nothing to remove", Properties: properties(`"ensure":"absent"`)},
		{
			Name: "by name of the own user", Tree: []modtest.Node{table},
			Properties: properties(`"command":"backup","minute":"0","hour":"3","user":"%d"`, os.Geteuid()),
		},
		{Name: "nobody", Properties: properties(`"command":"x","user":"no-such-user"`), Err: `user: user "no-such-user": no such account`},
		{Name: "absent of nobody", Properties: properties(`"ensure":"absent","user":"no-such-user"`)},
		{Name: "absent of an id that nobody has", Properties: properties(`"ensure":"absent","user":"2000000000"`)},
		{
			Name: "too large", Tree: []modtest.Node{{Path: "own", Text: strings.Repeat("#\n", 32<<10) + "#"}},
			Properties: properties(`"ensure":"absent"`), Err: "the own crontab is larger than 64 KiB",
		},
		{
			Name: "would be too large", Tree: []modtest.Node{{Path: "own", Text: strings.Repeat("#\n", 32<<10)}},
			Properties: properties(`"command":"x"`), Err: "the own crontab would be larger than 64 KiB",
		},
		{
			Name: "denied", Tree: []modtest.Node{{Path: "denied"}},
			Properties: properties(`"command":"x"`),
			Err:        "reading the own crontab: You (own) are not allowed to use this program (crontab)",
		},
	})...)
}

// TestOtherUser edits another user's crontab, with the user as an argument of crontab.
func TestOtherUser(t *testing.T) {
	root, typ := t.TempDir(), localType(t)
	res := modtest.Decode(t, modules.Registry{typ}, "cron", `{"name":"n","command":"x","user":"1","store":"$ROOT"}`, root)
	plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	if os.Geteuid() != 0 {
		want := fmt.Sprintf(`user %d may not change the crontab of user 1: permission denied; use "become"`, os.Geteuid())
		require.EqualError(t, err, want)
		return
	}
	require.NoError(t, err)
	require.NoError(t, res.Apply(t.Context(), modtest.Host(), plan))
	text, err := os.ReadFile(filepath.Join(root, modtest.Host().Accounts.UserName(t.Context(), 1)))
	require.NoError(t, err)
	require.Equal(t, "#ccm-push: n\n* * * * * x\n", string(text))
}

func TestFailures(t *testing.T) {
	root, typ := t.TempDir(), localType(t)
	res := modtest.Decode(t, modules.Registry{typ}, "cron", `{"name":"n","command":"full","store":"$ROOT"}`, root)
	plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.NoError(t, err)
	err = res.Apply(t.Context(), modtest.Host(), plan)
	require.EqualError(t, err, `writing the own crontab: "-":1: bad minute; errors in crontab file, cannot install.`)
	var r modules.Redactor
	require.ErrorAs(t, err, &r)
	require.Equal(t, "writing the own crontab: crontab ended with 1", r.Redacted())

	require.NoError(t, os.WriteFile(filepath.Join(root, "own"), []byte("theirs\n"), 0o600))
	require.EqualError(t, res.Apply(t.Context(), modtest.Host(), plan), "the own crontab was changed by another program during this run; run again")
	require.EqualError(t, res.Apply(t.Context(), modtest.Host(), modules.Plan{}), "the plan is not one of a cron entry")
}

func TestNoCrontab(t *testing.T) {
	res := modtest.Decode(t, modules.Registry{cron.Type()}, "cron", `{"name":"n","command":"x"}`, "")
	h := modtest.Host()
	h.Commands = nowhere{h.Commands}
	_, err := res.Check(t.Context(), modules.ReadOnly(h))
	require.EqualError(t, err, "no crontab program (install the package cron or cronie first)")
}

// nowhere has no programs.
type nowhere struct{ modules.Commands }

func (n nowhere) Probe(ctx context.Context, c modules.Command) (modules.Exit, error) {
	c.Path = "/nowhere"
	return n.Commands.Probe(ctx, c)
}

// newcomer is a user whom an earlier resource has yet to make.
type newcomer struct {
	modules.Accounts
	modules.NoForecast
}

func (newcomer) UserID(context.Context, string) (int, error) { return 4711, nil }

func (newcomer) Lookup(kind modules.EffectKind, key string) (any, bool) {
	if kind != modules.UserEffect || key != "newcomer" {
		return nil, false
	}
	return modules.AccountState{Exists: true}, true
}

// TestNewcomer uses an entry of a user that crontab does not know yet.
func TestNewcomer(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, []modtest.Node{{Path: "denied"}})
	h := modules.ReadOnly(modtest.Host())
	h.Accounts = newcomer{Accounts: h.Accounts}
	for user, want := range map[string]string{
		"newcomer": "",
		"somebody": `reading the crontab of "4711": You (4711) are not allowed to use this program (crontab)`,
	} {
		properties := fmt.Sprintf(`{"name":"n","command":"x","user":%q,"store":"$ROOT"}`, user)
		res := modtest.Decode(t, modules.Registry{localType(t)}, "cron", properties, root)
		h.Forecast = newcomer{}
		plan, err := res.Check(t.Context(), h)
		switch {
		case os.Geteuid() != 0:
			require.EqualError(t, err, fmt.Sprintf(`user %d may not change the crontab of user 4711: permission denied; use "become"`, os.Geteuid()))
		case want != "":
			require.EqualError(t, err, want)
		default:
			require.NoError(t, err)
			require.Equal(t, "added the entry", plan.Action)
		}
	}
}

// TestPredicts chains entries. The answer of the crontab program after a command is unknown, but the crontab after an
// entry is predicted.
func TestPredicts(t *testing.T) {
	types := modules.Registry{localType(t), file.Type(), exec.Type()}
	entry := func(properties string) modtest.Step {
		return modtest.Step{Type: "cron", Properties: `{"store":"$ROOT",` + properties + `}`}
	}
	uid := strconv.Itoa(os.Geteuid())
	for _, s := range []modtest.Scenario{
		{
			Name: "entries of one crontab",
			Tree: []modtest.Node{{Path: "own", Text: "#ccm-push: a\n* * * * * a\n"}},
			Steps: []modtest.Step{
				entry(`"name":"a","command":"a"`),
				entry(`"name":"b","command":"b"`),
				entry(`"name":"b","command":"b","user":"` + uid + `"`),
				entry(`"name":"a","ensure":"absent","user":"` + uid + `"`),
				entry(`"name":"a","command":"a"`),
				entry(`"name":"b","command":"c"`),
			},
			Want: []string{"stable", "changed", "stable", "changed", "changed", "changed"},
		},
		{
			Name: "after a file",
			Steps: []modtest.Step{
				{Type: "file", Properties: `{"name":"$ROOT/f","owner":"$UID","group":"$GID","mode":"0644"}`},
				entry(`"name":"b","command":"b"`),
				entry(`"name":"b","command":"b"`),
			},
			Want: []string{"changed", "changed", "stable"},
		},
		{
			Name: "after a command",
			Steps: []modtest.Step{
				{Type: "exec", Properties: `{"name":"true"}`},
				entry(`"name":"b","command":"b"`),
			},
			Want: []string{"changed likely", "changed unknown"},
		},
		{
			Name:  "what crontab refuses",
			Tree:  []modtest.Node{{Path: "denied"}},
			Steps: []modtest.Step{entry(`"name":"a","command":"a"`)},
			Want:  []string{"failed"},
		},
	} {
		t.Run(s.Name, func(t *testing.T) { modtest.Predicts(t, types, s) })
	}
}

// TestUndoOfAnEntryWithoutItsComment removes the comment above an entry, so undo
// does not find the entry, and reports that it is still there.
func TestUndoOfAnEntryWithoutItsComment(t *testing.T) {
	root, typ := t.TempDir(), localType(t)
	properties := func(more string) string { return `{"name":"n","store":"` + root + `",` + more + `}` }
	res := modtest.Decode(t, modules.Registry{typ}, "cron", properties(`"command":"backup --all"`), root)
	h := modtest.Host()
	plan, err := res.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	back, err := res.(*local).Cron.Reversal(t.Context(), modules.ReadOnly(res.(*local).on(h)), nil)
	require.NoError(t, err)
	require.NoError(t, res.Apply(t.Context(), h, plan))
	made, _ := back["made"].(string)
	undo := modtest.Decode(t, modules.Registry{typ}, "cron", properties(`"ensure":"absent","made":"`+made+`"`), root)
	require.NoError(t, os.WriteFile(filepath.Join(root, "own"), []byte("* * * * * backup --all\n"), 0o600))
	_, err = undo.Check(t.Context(), modules.ReadOnly(h))
	require.ErrorContains(t, err, `stays unchanged: a line has the command of this entry, but the comment "#ccm-push: n" is not above the line; remove the line by hand, or add the comment`)
	require.NoError(t, os.WriteFile(filepath.Join(root, "own"), nil, 0o600))
	plan, err = undo.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.False(t, plan.Pending())
}
